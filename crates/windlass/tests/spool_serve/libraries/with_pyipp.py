"""What a program does with pyipp: arguments are the port and a printer's name."""

import asyncio
import sys

from pyipp import IPP
from pyipp.enums import IppOperation

port, name = int(sys.argv[1]), sys.argv[2]


async def main():
    path = f"/printers/{name}"
    async with IPP(host="127.0.0.1", port=port, base_path=path, tls=False) as ipp:
        printer = await ipp.printer()
        assert printer.info.printer_name == name, printer
        assert (printer.info.manufacturer, printer.info.model) == ("windlass", "windlass spool"), printer
        assert printer.state.printer_state == "idle", printer.state
        assert [uri.uri for uri in printer.uris][0].endswith(path), printer.uris
        job = await ipp.execute(
            IppOperation.PRINT_JOB,
            {
                "operation-attributes-tag": {
                    "requesting-user-name": "tester",
                    "job-name": "of pyipp",
                    "document-format": "application/octet-stream",
                },
                "data": b"some words",
            },
        )
        assert job["jobs"][0]["job-id"] == 1, job
        jobs = await ipp.execute(
            IppOperation.GET_JOBS,
            {"operation-attributes-tag": {"which-jobs": "all", "requested-attributes": ["all"]}},
        )
        assert jobs["jobs"][0]["job-name"] == "of pyipp", jobs
    print("done")


asyncio.run(main())
