"""The display devices of the PCI bus on Windows. Written from Microsoft's documentation, untested on Windows."""

from __future__ import annotations

import re

from torchpick.machine.seen import PciGpu

# cfgmgr32.h: CM_GETIDLIST_FILTER_CLASS | CM_GETIDLIST_FILTER_PRESENT, and the class of display adapters (devguid.h).
_FILTER = 0x00000200 | 0x00000100
_DISPLAY = "{4d36e968-e325-11ce-bfc1-08002be10318}"
_ID = r"PCI\\VEN_([0-9A-Fa-f]{4})&DEV_([0-9A-Fa-f]{4})"


def pci_gpus() -> tuple[PciGpu, ...]:
    """The display adapters that the configuration manager lists; none where it cannot be asked."""
    import ctypes

    try:
        # All platforms that torch has Windows wheels for have one calling convention, so CDLL works.
        manager = ctypes.CDLL("cfgmgr32")
    except OSError:
        return ()
    size = ctypes.c_ulong(0)
    if manager.CM_Get_Device_ID_List_SizeW(ctypes.byref(size), _DISPLAY, _FILTER) != 0 or size.value > 1 << 20:
        return ()
    buffer = ctypes.create_unicode_buffer(size.value)
    if manager.CM_Get_Device_ID_ListW(_DISPLAY, buffer, size, _FILTER) != 0:
        return ()
    return parse_ids(ctypes.wstring_at(buffer, size.value))


def parse_ids(listed: str) -> tuple[PciGpu, ...]:
    r"""Device instance ids between NULs (`PCI\VEN_10DE&DEV_1B06&SUBSYS_…`) as GPUs, addressed by their instance id."""
    return tuple(
        PciGpu(instance[:200], int(match[1], 16), int(match[2], 16))
        for instance in listed.split("\0")[:1000]
        if (match := re.match(_ID, instance))
    )
