"""The netpart command: calls the verb, and turns every error into a message and one of the ``exit_codes``."""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from signal import SIGINT
from time import perf_counter
from typing import Any, NoReturn, TextIO

from netpart.cli.completion import SHELLS, CompletionAction
from netpart.cli.exit_codes import REFUSED, SIGNALLED, WRONG
from netpart.cli.progress_line import ProgressLine

VERBS = (
    "run", "evaluate", "predict", "sample", "gradcam", "worker", "check", "draw", "verify", "profile", "simulate",
    "partition", "plan", "plot", "diff", "explain", "expand", "fmt", "fields", "data", "zoo",
)  # fmt: skip
"""Every verb is a module of this package: ``add_verb_parser(subparsers)`` defines its options, ``run_verb(args)`` runs
it.

A verb that returns 1 as a result, such as diff, sets ``args.trouble``: its exit code for failures."""

MISSING = "the following arguments are required"
"""How argparse begins the message about words that are missing."""
ALIKE = 0.75
"""Minimum similarity (difflib's ratio) at which an unknown option counts as a misspelt known one."""


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the nine lines of usage that argparse prints."""

    words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as usual. The words are kept, as an error about what is missing may be due to a misspelt one."""
        self.words = args or ()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        if MISSING in message and (unknown := _first_unknown_option(self.words, self)):
            message = f"unknown: {unknown}{_option_hint(unknown, self)}"
        message = _reword_parse_error(message)
        print_error(message if message.endswith("?") else f"{message}; `{self.prog} --help` explains all options")
        self.exit(REFUSED)


def _reword_parse_error(message: str) -> str:
    """A message of argparse in the form of all other errors: ``--dtype: expected float32 or float64, got 'float16'``.

    A message of another form is returned as it is.
    """
    if choice := re.fullmatch(r"argument (.*): invalid choice: (.*) \(choose from (.*)\)", message):
        names = choice[3].replace("'", "").split(", ")
        wanted = " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        return f"{_last_option_name(choice[1])}: expected {wanted}, got {choice[2]}"
    if kind := re.fullmatch(r"argument (.*): invalid (\w+) value: (.*)", message):
        wanted = {"int": "a whole number", "float": "a number", "Path": "a path"}.get(kind[2], f"a {kind[2]}")
        return f"{_last_option_name(kind[1])}: expected {wanted}, got {kind[3]}"
    if one := re.fullmatch(r"argument (.*): expected one argument", message):
        return f"{_last_option_name(one[1])}: expected a value, got none"
    if own := re.fullmatch(r"argument ([^:]*): (expected .* got .*)", message):
        return f"{_last_option_name(own[1])}: {own[2]}"
    return message


def _last_option_name(option: str) -> str:
    """The last name of an option with two names, ``-o/--output``."""
    return option.rpartition("/")[2]


def _first_unknown_option(words: Sequence[str], parser: argparse.ArgumentParser) -> str:
    """The first of ``words`` that starts with two dashes but is not the beginning of a known option, or ""."""
    known = [name for action in parser._actions for name in action.option_strings]
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    return next((option for option in options if not any(name.startswith(option) for name in known)), "")


class VersionAction(argparse.Action):
    """The option --version; it looks the version up only when it is used, as that takes an import."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from netpart.resources import installed_version

        print(f"netpart {installed_version()}")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. Every error is a message on stderr.

    With NETPART_DEBUG=1 in the environment errors keep their traceback. ``argv`` is None in a process of its own: only
    then are signals and streams taken over, which tests and other callers keep.
    """
    args = argparse.Namespace()
    try:
        if argv is None:
            _prepare_process()
        ProgressLine.silent_from = perf_counter()
        args = parse_command_line(argv)
        code = int(args.run_verb(args))
        # Here and not at the interpreter's exit: a closed pipe shall raise inside of this try.
        sys.stdout.flush()
        if argv is None:
            _ignore_late_signals()
    except BrokenPipeError:
        return _end_broken_pipe()
    except KeyboardInterrupt as error:
        print_error(str(error) or "interrupted")
        return SIGNALLED + getattr(error, "number", SIGINT)
    except Exception as error:
        if os.environ.get("NETPART_DEBUG"):
            raise
        code = _print_failure(error, args)
        if argv is None:
            _end_left_threads(error, code)
    finally:
        if argv is None:
            # A process that ends looks at all its objects, for seconds if a plan for many workers left millions.
            gc.freeze()
        else:
            gc.unfreeze()  # what a command has kept
    return code


def _end_left_threads(error: Exception, code: int) -> None:
    """End the process if ``error`` has left a thread in a library, which could keep it from ending."""
    from netpart.errors import ThreadLeft

    if isinstance(error, ThreadLeft):
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(code)


def _prepare_process() -> None:
    """Prepare the process of a command: its signals and its output streams.

    Every signal that would end it, such as a scheduler's SIGTERM, is handled as Ctrl-C is, unless it is ignored
    (nohup). Output to a closed stream is dropped. Characters that the output's encoding lacks are written as "?".
    """
    from netpart.launch.control.signals import take_over_signals

    take_over_signals()
    # Python sets a stream that was closed at start (>&-) to None.
    sys.stdout = sys.stdout or _open_devnull()
    sys.stderr = sys.stderr or _open_devnull()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _ignore_late_signals() -> None:
    """Ignore signals from now on, so that one that arrives while Python shuts down cannot change the exit code."""
    from netpart.launch.control.signals import ignore_taken_signals

    ignore_taken_signals()


def _open_devnull() -> TextIO:
    """A stream that drops what is written to it."""
    return open(os.devnull, "w", encoding="utf-8")


def parse_command_line(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line with its verb's parser. A wrong one prints an error and exits with code 2.

    Without arguments it prints the help to stderr and exits with code 2.
    """
    words = sys.argv[1:] if argv is None else argv
    parser = make_parser()
    if not words:
        parser.print_help(sys.stderr)
        parser.exit(REFUSED)
    for word in words:
        if not _is_encodable(word):
            print_error(
                f"expected text in UTF-8, got {word!a}; rename the file, or set the locale that it is written in"
            )
            parser.exit(REFUSED)
    if words[0] == "help":
        words = [*words[1:2], "--help"]
    # Checked here, as argparse would list all verbs and give no hint.
    if words[0] not in VERBS and not words[0].startswith("-"):
        print_error(f"expected a verb, got {words[0]!r}; {_verb_hint(words[0])}")
        parser.exit(REFUSED)
    # Not parse_args: it would report unknown options by the parser of all verbs, which knows no option to hint at.
    args, unknown = parser.parse_known_args(words)
    args.words = tuple(words)
    if unknown:
        verb: argparse.ArgumentParser = args.parser
        verb.error(f"unknown: {' '.join(unknown)}{_option_hint(unknown[0], verb)}")
    return args


def _is_encodable(word: str) -> bool:
    """True for valid text. Python decodes bytes that are not valid text to lone surrogates, which do not encode."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _verb_hint(word: str) -> str:
    """A hint for the unknown verb ``word``: a verb with a similar name, or the one that other tools call so."""
    from netpart.proto import synonyms as words
    from netpart.proto.fields import nearest_hint
    from netpart.proto.job_files import JOB_ENDINGS

    if word.endswith(JOB_ENDINGS):
        return f"a verb comes first: netpart check {word}, or netpart run {word}"
    if word.lower() in words.VERB_NOTES:
        return words.VERB_NOTES[word.lower()]
    other = words.VERBS.get(word.lower())
    return f"did you mean {other}?" if other else nearest_hint(word, VERBS) or "netpart --help lists them"


def _option_hint(word: str, verb: argparse.ArgumentParser) -> str:
    """A hint for the unknown option ``word``: one with a similar name, or the one that other tools call so."""
    from difflib import get_close_matches

    from netpart.proto import synonyms as words

    known = [name for action in verb._actions for name in action.option_strings if name.startswith("--")]
    near = get_close_matches(word.partition("=")[0], known, 1, ALIKE)
    if near:
        return f"; did you mean {near[0]}?"
    hint = words.OPTIONS.get(words.plain_word(word.partition("=")[0]), "") if word.startswith("-") else ""
    # Only a hint at an option that this verb has: `netpart worker` has no --set.
    wanted = next((part for part in hint.split() if part.startswith("--")), "").rstrip(";")
    return f"; {hint}" if wanted in known and hint else ""


def make_parser() -> argparse.ArgumentParser:
    """Build the parser of all verbs."""
    from netpart.cli.examples import EXAMPLES

    parser = CommandParser(prog="netpart", description="Cuts a neural net over workers and trains it.")
    parser.add_argument("--version", action=VersionAction, nargs=0, help="show the version and exit")
    parser.add_argument(
        "--completion", action=CompletionAction, choices=SHELLS, help="print a script that completes command lines of"
        " netpart in a shell, and exit: eval \"$(netpart --completion bash)\" (needs netpart[completion])",
    )  # fmt: skip
    subparsers = parser.add_subparsers(metavar="VERB", required=True)
    for verb in VERBS:
        module = import_module(f"netpart.cli.{verb}")
        parser_of_verb = module.add_verb_parser(subparsers)
        # The raw formatter keeps the lines of epilogs and examples; the default one would fill them to paragraphs.
        parser_of_verb.formatter_class = argparse.RawDescriptionHelpFormatter
        examples = "\n  ".join(["examples:", *EXAMPLES[verb]])
        parser_of_verb.epilog = "\n\n".join(filter(None, (parser_of_verb.epilog, examples)))
        parser_of_verb.set_defaults(run_verb=module.run_verb, parser=parser_of_verb)
    return parser


def _print_failure(error: Exception, args: argparse.Namespace) -> int:
    """Print ``error`` and return the exit code. An error of the job gets its position in the file."""
    from netpart.cli.print_note import print_note
    from netpart.errors import ConfigError, JobError, NetpartError, os_error_message
    from netpart.shortage import find_shortage

    job = getattr(args, "loaded", None)
    if job is not None and isinstance(error, JobError):
        job.explain(error)
    if lacking := find_shortage(error):
        print_error(str(lacking))
    elif isinstance(error, OSError) and (words := os_error_message(error)):
        print_error(words)
    elif isinstance(error, JobError):
        for line in error.lines():
            print_error(line)
    elif isinstance(error, NetpartError):
        print_error(str(error))
    else:
        print_error(f"netpart itself failed: {error!r}; NETPART_DEBUG=1 shows where")
    for text in getattr(error, "__notes__", ()):
        print_note(text)
    return REFUSED if isinstance(error, ConfigError) else int(getattr(args, "trouble", WRONG))


def print_error(message: str) -> None:
    """Write one error to stderr; on a terminal its first word is red, unless NO_COLOR is set."""
    colours = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    word = "\033[1;31merror:\033[0m" if colours else "error:"
    with suppress(OSError):  # stderr may be a closed pipe or terminal; the exit code still reports the error
        print(f"{word} {message}", file=sys.stderr, flush=True)


def _end_broken_pipe() -> int:
    """End without a message when the reader of our output has closed the pipe (`netpart zoo | head`)."""
    # At exit Python flushes stdout once more: into /dev/null, as the pipe would raise again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return WRONG
