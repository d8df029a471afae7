"""The audit: rules that look at a recording and name their doubts about it."""

from stepmark.audit.rules import RULES, audit

__all__ = ["RULES", "audit"]
