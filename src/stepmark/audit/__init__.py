"""The audit: rules that look at a recording and name their doubts about it."""

from stepmark.audit.acceptance import accept
from stepmark.audit.meanings import MEANINGS
from stepmark.audit.rules import RULES, audit

__all__ = ["MEANINGS", "RULES", "accept", "audit"]
