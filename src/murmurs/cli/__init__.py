"""The command line: the library with dashes, one file a command.

Every command prints a table for people and, with ``--json``, a document for programs. Wrong input
ends with status 2 and one sentence; nothing is written then.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import click


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
        except (ValueError, TypeError, OSError, ImportError) as error:
            raise Refused(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="murmurs")
def main() -> None:
    """Learn what people answer without learning what anyone answered."""
