"""Turns of a lane in a process of its own: wait for a command, obey, answer."""

from __future__ import annotations

import socket
from collections.abc import Callable

from stepmark.measure.command import Command
from stepmark.measure.failures import LaneStopped
from stepmark.measure.lane import Lane
from stepmark.measure.protocol import Entered, Event, LaneFailed
from stepmark.records.outcome import Stage


def take_turns(lane: Lane, emit: Callable[[Event], object], turns: socket.socket) -> None:
    """Until it is told to leave; between commands the process sleeps in a read."""
    number = 0
    while (order := turns.recv(1)) and order[0] != Command.LEAVE:
        answer = Command.DONE
        try:
            match Command(order[0]):
                case Command.BUILD:
                    emit(Entered(stage=Stage.BUILD, variant=lane.variant))
                    events = lane.build()
                case Command.WARM_UP:
                    emit(Entered(stage=Stage.WARMUP, variant=lane.variant))
                    events = lane.warm_up()
                case Command.RENEW:
                    emit(Entered(stage=Stage.BUILD, variant=lane.variant, round=number))
                    events = lane.renew(number)
                case Command.END:
                    emit(Entered(stage=Stage.ROUNDS, variant=lane.variant, round=number))
                    events = lane.end(number)
                case Command.BLOCK | Command.BLOCK_AFTER_LEAD_IN as command:
                    emit(Entered(stage=Stage.ROUNDS, variant=lane.variant, round=number))
                    events = lane.block(number, lead_in=command is Command.BLOCK_AFTER_LEAD_IN)
                    number += 1
                case other:
                    raise AssertionError(f"{other!r} is no order")
            for event in events:
                emit(event)
        except LaneStopped as stopped:
            emit(LaneFailed(variant=lane.variant, failure=stopped.failure))
            answer = Command.FAILED
        turns.send(bytes([answer]))
