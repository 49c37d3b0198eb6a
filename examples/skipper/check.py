"""Holds the report on Skipper's database against what its source code does (read in its sources jar).

`ReleaseRepositoryImpl.findByNameAndVersion` asks for all releases, and goes through them in their order until name and
version are those that are wanted; `ReleaseService.manifest` reads the manifest of that one. So each request reads the name
of the releases up to that one, version and manifest of one, nothing of their statuses, and all of it belongs to this line.
"""

import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from check import told

FOUND = "ReleaseRepositoryImpl.findByNameAndVersion(ReleaseRepositoryImpl.java:83)"
DOMAIN = "org.springframework.cloud.skipper.domain."


def main(folder):
    folder = pathlib.Path(folder)
    transfers = json.loads((folder / "transfers.json").read_text())["transfers"]
    asked = json.loads((folder / "asked.json").read_text())
    releases = asked["releases"]
    here = {one["class"].removeprefix(DOMAIN): one for one in transfers if line(one).endswith(FOUND)}
    other = [one for one in transfers if one["class"] == DOMAIN + "Release"
             and line(one).endswith("ReleaseService.manifest(ReleaseService.java:353)")]
    claims = []

    def claim(text, holds):
        claims.append((text, holds))

    claim(f"the line that asks for all releases is there with its four tables: {', '.join(sorted(here))}",
          {"Release", "Info", "Status", "Manifest"} <= set(here))
    if not claims[0][1]:
        return told(claims)
    names = {"Release": "skipper_release", "Info": "skipper_info", "Status": "skipper_status",
             "Manifest": "skipper_manifest"}
    for name, table in names.items():
        one = here[name]
        claim(f"{name}: SELECT {table}, {asked['asked']} responses of {releases} objects",
              (one["endpoint"], one["responses"], one["objects_per_response"])
              == (f"SELECT {table}", asked["asked"], releases))
    claim("no package, which Skipper makes of a column itself, counts as an answer of the database",
          not {"Package", "Template", "PackageMetadata"} & set(here))
    for name in ("Info", "Status"):
        claim(f"{name}: nothing is ever read", not any(field["used"] for field in here[name]["fields"]))
    fields = {field["name"]: field for field in here["Release"]["fields"]}
    for name in ("id", "info", "packageMetadataId", "repositoryId", "platformName"):
        claim(f"Release.{name}: never read", fields[name]["used"] == 0)
    expected = [("name", (releases + 1) / (2 * releases)), ("version", 1 / releases), ("manifest", 1 / releases)]
    shares = [(f"Release.{name}", fields[name], share) for name, share in expected]
    shares += [("Manifest.data", field, 1 / releases) for field in here["Manifest"]["fields"]
               if field["name"] == "data"]
    for name, field, share in shares:
        count = field["used"] + field["unused"] + field["printed"]
        # Four standard deviations: wrong once in 16,000 times.
        far = 4 * math.sqrt(share * (1 - share) / max(count, 1))
        claim(f"{name}: read of {field['used']} of {count}, as {share:.1%} of all are",
              count > 0 and abs(field["used"] / count - share) <= far)
    by_mask = fields["pkgJsonString"]["used"] + fields["pkgJsonString"]["unused"] == here["Release"]["decided"]
    if by_mask:
        claim("Release.pkgJsonString: read of each, by the entity itself as it is loaded",
              fields["pkgJsonString"]["used"] == here["Release"]["decided"])
    claim("the query by name, for the same answer, brings one release",
          len(other) == 1 and other[0]["objects_per_response"] == 1)
    return told(claims)


def line(transfer):
    """Where the application asked; nowhere for what Skipper's libraries ask on their own threads."""
    return transfer["call_path"][-1] if transfer["call_path"] else ""


if __name__ == "__main__":
    main(sys.argv[1])
