"""The run of weft that a benchmark samples, and the options that choose it."""
import argparse
import copy

import paired
from tailor_env import BIN


def parser(text, query, sf, threads, repeat):
    """A parser with the options of such a benchmark, and these defaults."""
    result = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--query", default=query)
    result.add_argument("--sf", default=sf)
    result.add_argument("--threads", default=threads)
    result.add_argument("--repeat", default=repeat)
    result.add_argument("--pairs", type=int, default=20)
    result.add_argument("--frequencies", type=int, nargs="+", default=(1000, 10000))
    return result


def command(options):
    """weft, optimised code only, as the options say."""
    return [BIN / "weft", "--sf", options.sf, "--threads", options.threads, "--repeat", options.repeat, "--opt", "2",
            "--quiet", "--query", options.query]


def repeats_for(options, seconds):
    """How many executions take so long, about."""
    def wall(repeat):
        some = copy.copy(options)
        some.repeat = str(repeat)
        return paired.metered([], command(some), env={"TAILOR_DISABLE": "1"})[1]

    few, more = 5, 55
    each = max((wall(more) - wall(few)) / (more - few), 1e-4)
    return str(max(round(seconds / each), 1))
