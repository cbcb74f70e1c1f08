"""Whose data a method of the store acts on: one user, who is named, or explicitly all users."""

from __future__ import annotations

from enum import Enum
from typing import Final

DEFAULT_USER: Final = "me"
"""The user of records that name none, and of methods that are given none."""


class AllUsers(Enum):
    """The type of `ALL_USERS`."""

    ALL_USERS = "all users"


ALL_USERS: Final = AllUsers.ALL_USERS
"""Every user in the store: for operators. Never a default."""

Users = str | AllUsers
"""One user by name, or `ALL_USERS`."""
