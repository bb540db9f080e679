"""The command line: the library with dashes, one file a command.

Every command prints a table for people and, with ``--json``, a document for programs. Wrong input
ends with status 2 and one sentence; nothing is written then.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import click

from murmurs.present.text import printable

_LONGEST_MESSAGE = 1000


class Refused(click.ClickException):
    """What the user gave is wrong; the sentence says how."""

    exit_code = 2


class Commands(click.Group):
    """The commands, loaded when they are used, so that each starts quickly."""

    NAMES: ClassVar = [
        "demo",
        "publish",
        "encode",
        "count",
        "add",
        "simulate",
        "estimate",
        "mechanisms",
        "tune",
        "rappor",
    ]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the data's path."""
        return self.NAMES

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by the file of its name."""
        if cmd_name not in self.NAMES:
            return None
        command: click.Command = import_module(f"murmurs.cli.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error in what the user gave becomes one sentence."""
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
            raise Refused("what is given is nested too deeply") from error


def _sentence(error: Exception) -> str:
    """Return what an error says; those of the system say it with a number first.

    Some say it in another way where options are typed.
    """
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(getattr(error, "on_command_line", error))


def _tidy(message: str, keep: str = "") -> str:
    """Return a message that does a terminal no harm: no control characters, no endless lines."""
    half = _LONGEST_MESSAGE // 2
    short = len(message) <= _LONGEST_MESSAGE
    return printable(message if short else f"{message[:half]} … {message[-half:]}", keep)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="murmurs")
def main() -> None:
    """Learn what people answer without learning what anyone answered."""
