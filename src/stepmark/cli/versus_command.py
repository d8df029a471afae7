"""`stepmark versus`: compare modules written on the command line."""

from __future__ import annotations

import os
from typing import Any

import click

from stepmark.cli.options import measuring_options
from stepmark.errors import UsageError
from stepmark.records.source import ExpressionSource


@click.command("versus")
@click.argument("expressions", nargs=-1, required=True, metavar="BASELINE OTHER...")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    required=True,
    metavar="SHAPE",
    help="An input per option: 64x1024, 64x16:int64<1000 for whole numbers, 64x1024:grad for an input that "
    "wants a gradient.",
)
@click.option("--optimizer", metavar="NAME", help="torch.optim.AdamW, for instance; none by default.")
@click.option("--loss", metavar="NAME", help="Called with the output; none by default.")
@measuring_options
def command(expressions: tuple[str, ...], inputs: tuple[str, ...], **options: Any) -> int:
    """Compare modules given as Python expressions; the first is the baseline.

    \b
    stepmark versus "torch.nn.Linear(1024,1024)" \\
                    "torch.nn.Linear(1024,1024,bias=False)" --input 64x1024
    """
    from stepmark.authoring.expressions import parse_expression, parse_input
    from stepmark.cli.measuring import measure_and_report

    if len(expressions) < 2:
        raise UsageError(
            "one expression cannot be compared", remedy="give two or more; the first is the baseline"
        )
    for text in inputs:
        parse_input(text)
    for text in (*expressions, options["optimizer"], options["loss"]):
        if text is not None:
            parse_expression(text)
    source = ExpressionSource(
        expressions=expressions,
        inputs=inputs,
        optimizer=options.pop("optimizer"),
        loss=options.pop("loss"),
        path=(os.getcwd(),),
    )
    return measure_and_report((source,), options)
