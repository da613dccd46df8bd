"""Makes published_events.tsv from the vendors' own event tables.

    published_events.py PERFMON LINUX > published_events.tsv

PERFMON is a clone of github.com/intel/perfmon, LINUX a source tree of the kernel, whose tools/perf/pmu-events AMD
keeps. Of each microarchitecture the events that presets and documentation of Tailor name, as published.
"""
import json
import pathlib
import subprocess
import sys

INTEL = {
    "Skylake": "SKL/events/skylake_core.json", "SkylakeX": "SKX/events/skylakex_core.json",
    "CascadeLake": "CLX/events/cascadelakex_core.json", "CometLake": "SKL/events/skylake_core.json",
    "IceLake": "ICL/events/icelake_core.json", "IceLakeX": "ICX/events/icelakex_core.json",
    "TigerLake": "TGL/events/tigerlake_core.json", "RocketLake": "RKL/events/rocketlake_core.json",
    "SapphireRapids": "SPR/events/sapphirerapids_core.json", "EmeraldRapids": "EMR/events/emeraldrapids_core.json",
    "GraniteRapids": "GNR/events/graniterapids_core.json"}
INTEL_EVENTS = {"INST_RETIRED.PREC_DIST", "MEM_INST_RETIRED.ALL_LOADS", "MEM_LOAD_RETIRED.L3_MISS",
                "BR_MISP_RETIRED.ALL_BRANCHES", "BR_MISP_RETIRED.ALL_BRANCHES_PEBS",
                "BR_INST_RETIRED.ALL_BRANCHES", "BR_INST_RETIRED.ALL_BRANCHES_PEBS",
                "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_32"}
AMD = {"Zen3": "amdzen3", "Zen4": "amdzen4", "Zen5": "amdzen5"}
AMD_EVENTS = {"ex_ret_instr", "ex_ret_brn_misp"}


def row(machine, name, event, precise, address):
    code = int(event["EventCode"].split(",")[0], 16)
    umask = int(event.get("UMask", "0"), 16)
    print(machine, name, f"{code:#x}", f"{umask:#x}", precise, address, sep="\t")


def intel(perfmon):
    commit = subprocess.check_output(["git", "-C", perfmon, "rev-parse", "HEAD"], text=True).strip()
    print(f"# Intel: github.com/intel/perfmon at {commit}")
    for machine, path in INTEL.items():
        table = json.loads(subprocess.check_output(["git", "-C", perfmon, "show", f"HEAD:{path}"]))
        print(f"# {machine}: {path}, version {table['Header']['Version']}")
        for event in table["Events"]:
            if event["EventName"] not in INTEL_EVENTS:
                continue
            precise = int(event.get("PEBS", event.get("Precise", "0"))) > 0
            row(machine, event["EventName"], event, int(precise), int(event.get("Data_LA", "0")))


def amd(linux):
    for machine, folder in AMD.items():
        directory = pathlib.Path(linux) / "tools/perf/pmu-events/arch/x86" / folder
        print(f"# {machine}: tools/perf/pmu-events/arch/x86/{folder} of the kernel")
        for path in sorted(directory.glob("*.json")):
            for event in json.loads(path.read_text()):
                if event.get("EventName") in AMD_EVENTS:
                    row(machine, event["EventName"], event, 0, 0)


print("# What the vendors publish, written by published_events.py: machine, event, code, umask, whether it is")
print("# precise (PEBS), whether its record has the data address.")
intel(sys.argv[1])
amd(sys.argv[2])
