"""The command line: the library with dashes, one file per command.

Every command prints a table for people and, with ``--json``, a document for programs. If the
input is wrong, a command prints one sentence, exits with status 2 and writes nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import click

from murmurs import __version__
from murmurs.cli.suggestions import Group
from murmurs.present.text import printable

_LONGEST_MESSAGE = 1000


class Refused(click.ClickException):
    """The user's input is wrong; the message says how."""

    exit_code = 2


class Commands(Group):
    """The commands, each loaded only when it is used, so that it starts quickly."""

    NAMES: ClassVar = [
        "demo",
        "publish",
        "diff",
        "answer",
        "encode",
        "count",
        "add",
        "simulate",
        "estimate",
        "discover",
        "joint",
        "compare",
        "trend",
        "serve",
        "token",
        "store",
        "mechanisms",
        "tune",
        "study",
        "reproduce",
        "rappor",
    ]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which data pass through them."""
        return self.NAMES

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command from the file of that name."""
        if cmd_name not in self.NAMES:
            return None
        place = "murmurs_papers.command" if cmd_name == "reproduce" else f"murmurs.cli.{cmd_name}"
        command: click.Command = import_module(place).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error in the user's input becomes one sentence."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader has seen enough
            raise
        except click.UsageError as error:
            message = error.format_message()
            if _tidy(message, keep="\n") == message:
                raise
            raise click.UsageError(_tidy(message), error.ctx) from None
        except (ValueError, TypeError, OSError, ImportError, ArithmeticError) as error:
            raise Refused(_tidy(_sentence(error))) from error
        except MemoryError as error:
            raise Refused(_tidy(f"there is not enough memory: {error}")) from error
        except RecursionError as error:
            raise Refused("the input is nested too deeply") from error


def _sentence(error: Exception) -> str:
    """Return the message of an error, without the error number of system errors.

    Some errors have another message for the command line, which names options.
    """
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(getattr(error, "on_command_line", error))


def _tidy(message: str, keep: str = "") -> str:
    """Return a message that is safe to print: no control characters, no endless lines."""
    half = _LONGEST_MESSAGE // 2
    short = len(message) <= _LONGEST_MESSAGE
    return printable(message if short else f"{message[:half]} … {message[-half:]}", keep)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Estimate how many people gave each answer, from randomised answers."""
