"""Work in a process of its own, and what it said."""

import multiprocessing
from collections.abc import Callable

import dpverify as dpv


def in_a_child(work: Callable[[], str]) -> str:
    """What `work` returns, run in a process of its own."""
    fork = multiprocessing.get_context("fork")
    receive, send = fork.Pipe(duplex=False)
    child = fork.Process(target=lambda: send.send(work()))
    child.start()
    told = str(receive.recv())
    child.join()
    return told


def sentence_of(work: Callable[[], object]) -> str:
    try:
        work()
    except dpv.DPVerifyError as error:
        return str(error)
    return "done"
