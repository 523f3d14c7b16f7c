"""Refusals, and what becomes of an exception. There is nothing to change here."""

from functools import wraps

from componentize_py_types import Err
from wit_world.imports import log
from wit_world.imports.types import ConfigError, Reason, Refusal_Exhausted, Refusal_Other


def exhausted(message):
    """Nothing is free. To be raised."""
    return Err(Refusal_Exhausted(Reason(message, [])))


def refused(message):
    """Any other reason. To be raised."""
    return Err(Refusal_Other(Reason(message, [])))


def wrong(path, message):
    """A key of the configuration is wrong. To be raised by `define`; `configuration.ranges` raises one itself."""
    return Err(ConfigError(path, message, []))


def told(rule):
    """The function, with an exception in the log before it fails the call. A refusal is not an exception."""

    @wraps(rule)
    def telling(*arguments):
        try:
            return rule(*arguments)
        except Err:
            raise
        except Exception as error:
            places, at = [], error.__traceback__.tb_next
            while at is not None:
                code = at.tb_frame.f_code
                places.insert(0, f"at {code.co_name} ({code.co_filename}:{at.tb_lineno})")
                at = at.tb_next
            told = "; ".join([f"{type(error).__name__}: {error}", *places])
            # A text may have halves of surrogate pairs, which UTF-8 does not have.
            log.write(log.Level_Warn(), told.encode("utf-8", "backslashreplace").decode())
            raise

    return telling
