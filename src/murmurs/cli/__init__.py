"""The command line: each command has a file, which reads options, calls the library and prints.

Every command prints a table for people and, with ``--json``, a document for programs. If the
input is wrong, a command prints one sentence, exits with status 2 and writes nothing.

A command is loaded when it is used. Its line in ``murmurs --help`` stands here, so that the help
needs neither NumPy nor the rest of the library.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from murmurs import __version__
from murmurs.cli.suggestions import Group

_LONGEST_MESSAGE = 1000

HELPS = {
    "demo": "Run a collection with simulated devices.",
    "publish": "Fix the probabilities of SURVEY_TOML and publish it.",
    "diff": "Show what changed from OLD to NEW, and what that breaks.",
    "answer": "Answer SURVEY as one device, show what leaves it, and send it.",
    "encode": "Encode ANSWERS as reports to SURVEY.",
    "count": "Count the REPORTS to one question of SURVEY, or to all.",
    "add": "Add up files of COUNTS of one question.",
    "simulate": "Simulate the counts that PEOPLE would give in SURVEY.",
    "estimate": "Estimate the shares of the answers from COUNTS.",
    "discover": "Find strings that nobody listed, in COUNTS.",
    "joint": "Show the table of questions that the same people answered.",
    "compare": "Compare the shares in THIS file of counts with those in OTHER.",
    "trend": "Show the shares in several files of COUNTS side by side.",
    "serve": "Collect submissions to SURVEYS, and answer with estimates.",
    "token": "Manage access tokens.",
    "store": "Back up, restore, export or check a collection.",
    "mechanisms": "Compare the error, privacy and report size of the mechanisms.",
    "tune": "Find the best width and number of cohorts for strings.",
    "study": "Compare mechanisms and estimators on a column of DATA.",
    "reproduce": "Run tables and figures of the papers again, and compare.",
    "rappor": "Read and write the files of google/rappor, and decode them.",
}
"""The commands in the order in which data pass through them, each with its first sentence."""

ELSEWHERE = {"reproduce": "murmurs_papers.command"}
"""Commands of other packages, which are there if the package is installed."""


class Refused(click.ClickException):
    """The user's input is wrong; the message says how."""

    exit_code = 2


class Commands(Group):
    """The commands, each loaded only when it is used, so that it starts quickly."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands that are installed."""
        return [name for name in HELPS if name not in ELSEWHERE or find_spec(_package(name))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command from the file of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(ELSEWHERE.get(cmd_name, f"murmurs.cli.{cmd_name}"))
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without loading any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, HELPS[name]) for name in self.list_commands(ctx)])

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


def _package(name: str) -> str:
    return ELSEWHERE[name].partition(".")[0]


def _sentence(error: Exception) -> str:
    """Return the message of an error with options for keywords, and without a system's number."""
    from murmurs.cli.wording import in_options

    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return in_options(str(getattr(error, "on_command_line", error)))


def _tidy(message: str, keep: str = "") -> str:
    """Return a message that is safe to print: no control characters, no endless lines."""
    from murmurs.present.text import printable  # only errors need it, and what it imports

    half = _LONGEST_MESSAGE // 2
    short = len(message) <= _LONGEST_MESSAGE
    return printable(message if short else f"{message[:half]} … {message[-half:]}", keep)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Estimate how many people gave each answer, from randomised answers."""
