"""pynvml as far as it is asked, with scripted answers."""

from __future__ import annotations

from types import SimpleNamespace


class NVMLError(Exception):
    pass


class Nvml:
    """Cards with a common state; what is named in `broken` fails."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(
        self,
        *,
        broken: str = "",
        reasons: int = 0x24,
        clocks: tuple[int, ...] = (1980,),
        kinds: tuple[bytes, ...] = (b"NVIDIA H200",),
    ) -> None:
        self._broken = broken
        self._kinds = kinds
        self.reasons = reasons
        self._clocks = clocks
        """Of the multiprocessors, by reading; the last stays."""
        self.asked: list[str] = []
        self.opened = 0
        self.shut_down = False

    def __getattribute__(self, name: str) -> object:
        if name.startswith("nvml"):
            self.asked.append(name)
            if name == self._broken:
                return self._fail
        return super().__getattribute__(name)

    def _fail(self, *_: object) -> None:
        raise NVMLError

    def nvmlInit(self) -> None:  # noqa: N802
        self.opened += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.shut_down = True

    def nvmlSystemGetDriverVersion(self) -> bytes:  # noqa: N802
        return b"570.1"

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self._kinds)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        if index >= len(self._kinds):
            raise NVMLError
        return f"card {index}"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        if not UUID.startswith(uuid):
            raise NVMLError
        return "card 0"

    def nvmlDeviceGetName(self, handle: str) -> bytes:  # noqa: N802
        return self._kinds[int(handle.removeprefix("card "))]

    def nvmlDeviceGetUUID(self, _: str) -> str:  # noqa: N802
        return UUID

    def nvmlDeviceGetClockInfo(self, _: str, kind: int) -> int:  # noqa: N802
        if kind == self.NVML_CLOCK_MEM:
            return 3201
        now, *rest = self._clocks
        self._clocks = tuple(rest) or self._clocks
        return now

    def nvmlDeviceGetMaxClockInfo(self, _: str, kind: int) -> int:  # noqa: N802
        return 3201 if kind == self.NVML_CLOCK_MEM else 1980

    def nvmlDeviceGetTemperature(self, _: str, _kind: int) -> int:  # noqa: N802
        return 58

    def nvmlDeviceGetPowerUsage(self, _: str) -> int:  # noqa: N802
        return 412_500

    def nvmlDeviceGetEnforcedPowerLimit(self, _: str) -> int:  # noqa: N802
        return 700_000

    def nvmlDeviceGetMemoryInfo(self, _: str) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(total=140 << 30)

    def nvmlDeviceGetEccMode(self, _: str) -> list[int]:  # noqa: N802
        return [1, 1]

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, _: str) -> int:  # noqa: N802
        return self.reasons

    def nvmlDeviceGetComputeRunningProcesses(self, _: str) -> list[SimpleNamespace]:  # noqa: N802
        return [SimpleNamespace(pid=454, usedGpuMemory=810 << 20)]

    def nvmlSystemGetProcessName(self, _: int) -> str:  # noqa: N802
        return "/opt/py, thon"


UUID = "GPU-00000000-1111-2222-3333-444444444444"
