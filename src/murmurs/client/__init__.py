"""The client: a device's side of a survey, from a person's answers to submissions that are sent.

It needs only the core of murmurs. A `Client` keeps one small state, spends no more than the survey
allows, and saves every submission before it can be sent.
"""

from murmurs.client.answers import AnswerRefusedError
from murmurs.client.client import Client
from murmurs.client.limits import chance_of_draw, draw
from murmurs.client.sending import Refusal, Sent
from murmurs.client.transport import HTTP, NotSentError, Reply

__all__ = [
    "HTTP",
    "AnswerRefusedError",
    "Client",
    "NotSentError",
    "Refusal",
    "Reply",
    "Sent",
    "chance_of_draw",
    "draw",
]
