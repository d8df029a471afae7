"""The inspection: a step under instruments, outside every clock; what it showed, never a judgement."""
