"""Commands and choices that name the nearest known word where one is mistyped."""

from __future__ import annotations

from typing import Any

import click


class Group(click.Group):
    """Commands, in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they were added."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command; an error about an unknown name suggests the nearest one."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            from murmurs.boundary.texts import meant  # only errors need it, and what it imports

            raise click.UsageError(f"there is no command {name!r}{meant(name, known)}", ctx)
        return super().resolve_command(ctx, args)


class Choice(click.Choice):  # type: ignore[type-arg]  # click 8.1 has no parameter there
    """A value from a list."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value; an error about an unknown one suggests the nearest one."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            from murmurs.boundary.texts import meant

            near = meant(value, self.choices)
            if not near:
                raise
            raise click.BadParameter(error.message.removesuffix(".") + near, ctx, param) from None
