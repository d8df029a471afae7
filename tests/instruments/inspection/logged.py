"""Functions run under the log of operations and the watch on created data, each as one phase."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stepmark.instruments.inspection.creations import Created, CreationWatch
from stepmark.instruments.inspection.operation_log import OperationLog, PhaseLog
from stepmark.instruments.inspection.storages import Storages
from stepmark.instruments.inspection.subject import tensors_in


def logged(*functions: Callable[[], Any]) -> list[PhaseLog]:
    """The log of each; results are kept until the last one is done."""
    log = OperationLog(Storages())
    results = []
    for function in functions:
        log.begin("phase")
        with log:
            results.append(function())
        log.end(list(tensors_in(results[-1])))
    return log.phases


def watched(function: Callable[[], Any]) -> tuple[PhaseLog, list[Created]]:
    log = OperationLog(Storages())
    watch = CreationWatch(log, torch.device("cpu"))
    log.begin("phase")
    with watch.undispatched(), watch, log:
        result = function()
    log.end(list(tensors_in(result)))
    return log.phases[0], watch.created
