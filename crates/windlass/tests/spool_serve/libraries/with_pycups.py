"""What a program does with pycups: arguments are the port, a file and a folder for files."""

import os
import sys
import time

import cups

port, file, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
cups.setUser("tester")
# Else libcups asks the device itself.
cups.setServer("127.0.0.1")
cups.setPort(port)
server = cups.Connection(host="127.0.0.1", port=port)

# What there is.
assert set(server.getPrinters()) == {"a", "b"}, server.getPrinters()
assert server.getDefault() == "a"
a = server.getPrinters()["a"]
assert a["printer-state"] == cups.IPP_PRINTER_IDLE, a
said = server.getPrinterAttributes("a", requested_attributes=["document-format-supported"])
assert "application/pdf" in said["document-format-supported"], said


def ended(job, wanted):
    for _ in range(3000):
        state = server.getJobAttributes(job)["job-state"]
        if state == wanted:
            return
        time.sleep(0.01)
    raise AssertionError(f"job {job} is in state {state}, not {wanted}")


# Jobs: from a file, from two, from a stream, held, canceled, restarted.
job = server.printFile("a", file, "one", {"copies": "2"})
ended(job, cups.IPP_JOB_COMPLETED)
told = server.getJobAttributes(job)
assert told["job-name"] == "one" and told["job-originating-user-name"] == "tester", told
ended(server.printFiles("a", [file, file], "two", {}), cups.IPP_JOB_COMPLETED)
job = server.createJob("a", "stream", {})
server.startDocument("a", job, "part", cups.CUPS_FORMAT_RAW, 1)
server.writeRequestData(b"some words", 10)
server.finishDocument("a")
ended(job, cups.IPP_JOB_COMPLETED)
held = server.printFile("a", file, "held", {"job-hold-until": "indefinite"})
ended(held, cups.IPP_JOB_HELD)
assert held in server.getJobs(which_jobs="not-completed", my_jobs=True)
server.setJobHoldUntil(held, "no-hold")
ended(held, cups.IPP_JOB_COMPLETED)
held = server.printFile("a", file, "unwanted", {"job-hold-until": "indefinite"})
server.cancelJob(held)
ended(held, cups.IPP_JOB_CANCELED)
assert len(server.getJobs(which_jobs="completed")) == 5

# Printers, as an administrator's program changes them.
server.disablePrinter("a", reason="out of paper")
a = server.getPrinters()["a"]
assert a["printer-state"] == cups.IPP_PRINTER_STOPPED and "out of paper" in a["printer-state-message"], a
waiting = server.printFile("a", file, "waiting", {})
server.moveJob(job_id=waiting, job_printer_uri=f"ipp://127.0.0.1:{port}/printers/b")
ended(waiting, cups.IPP_JOB_COMPLETED)
server.enablePrinter("a")
server.rejectJobs("a", reason="closed")
try:
    server.printFile("a", file, "refused", {})
except cups.IPPError as error:
    assert error.args[0] == cups.IPP_NOT_ACCEPTING, error
else:
    raise AssertionError("a printer that takes none took a job")
server.acceptJobs("a")
server.addPrinter("c", device=f"file:{folder}", info="The lab", location="2.14")
server.enablePrinter("c")
server.acceptJobs("c")
server.setPrinterInfo("c", "The other lab")
server.setPrinterLocation("c", "2.15")
server.setPrinterErrorPolicy("c", "abort-job")
c = server.getPrinters()["c"]
assert (c["printer-info"], c["printer-location"]) == ("The other lab", "2.15"), c
ended(server.printFile("c", file, "new", {}), cups.IPP_JOB_COMPLETED)
assert len(os.listdir(folder)) == 1
server.addPrinterToClass("a", "pool")
server.addPrinterToClass("b", "pool")
server.enablePrinter("pool")
server.acceptJobs("pool")
assert server.getClasses()["pool"] == ["a", "b"], server.getClasses()
ended(server.printFile("pool", file, "of the class", {}), cups.IPP_JOB_COMPLETED)
server.deletePrinterFromClass("b", "pool")
assert server.getClasses()["pool"] == ["a"], server.getClasses()
server.deleteClass("pool")
server.setDefault("b")
assert server.getDefault() == "b"
server.deletePrinter("c")
assert set(server.getPrinters()) == {"a", "b"}
server.printTestPage("b", file)
server.cancelAllJobs("b", my_jobs=True)

# What there is not is an error of IPP's, and no more.
for wrong in (
    lambda: server.getJobAttributes(999),
    lambda: server.getPrinterAttributes("nobody"),
    lambda: server.printFile("nobody", file, "x", {}),
    lambda: server.getPPDs(),
    lambda: server.getDevices(),
):
    try:
        wrong()
    except cups.IPPError:
        pass
    else:
        raise AssertionError("it is there")
print("done")
