"""What people do with Skipper, over its HTTP interface: they install releases, then ask about them one by one.

    load.py URL APPLICATION RELEASES ROUNDS

APPLICATION is a jar whose name ends with "-1.0.0.jar": what the releases would run. Prints what it asked, as JSON.
Not a benchmark: one request at a time.
"""

import io
import json
import sys
import time
import urllib.request
import zipfile

TEMPLATE = """apiVersion: skipper.spring.io/v1
kind: SpringCloudDeployerApplication
metadata:
  name: clock
spec:
  resource: "file:%s"
  version: "1.0.0"
  applicationProperties:
    clock.zone: UTC
    clock.format: HH:mm:ss
  deploymentProperties:
    spring.cloud.deployer.memory: 64m
"""
METADATA = """apiVersion: skipper.spring.io/v1
kind: SkipperPackageMetadata
name: clock
version: 1.0.0
displayName: A clock
description: Tells the time and ends.
maintainer: nobody
tags: clock, time
"""


def main(url, application, releases, rounds):
    wait_for(url + "/repositories/search/findByName?name=local")
    post(url + "/package/upload", {"repoName": "local", "name": "clock", "version": "1.0.0", "extension": "zip",
                                   "packageFileAsBytes": list(package(application))})
    names = [f"clock-{number}" for number in range(1, releases + 1)]
    for name in names:
        post(url + "/package/install", {
            "packageIdentifier": {"repositoryName": "local", "packageName": "clock", "packageVersion": "1.0.0"},
            "installProperties": {"releaseName": name, "platformName": "default"}})
    asked = 0
    for _ in range(rounds):
        for name in names:
            for path in (f"/release/manifest/{name}/1", f"/release/manifest/{name}"):
                answer = get(url + path)
                assert "SpringCloudDeployerApplication" in answer["data"], answer
            asked += 1
    print(json.dumps({"releases": releases, "asked": asked}))


def package(application):
    """A package, which is a zip with a folder."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("clock-1.0.0/", "")
        archive.writestr("clock-1.0.0/package.yml", METADATA)
        archive.writestr("clock-1.0.0/templates/", "")
        archive.writestr("clock-1.0.0/templates/clock.yml", TEMPLATE % application.removesuffix("-1.0.0.jar"))
    return packed.getvalue()


def wait_for(url):
    for _ in range(180):
        try:
            return get(url)
        except OSError:
            time.sleep(1)
    sys.exit(f"{url} did not answer within three minutes")


def get(url):
    return answer(urllib.request.Request(url))


def post(url, content):
    return answer(urllib.request.Request(url, json.dumps(content).encode(), {"Content-Type": "application/json"}))


def answer(request):
    with urllib.request.urlopen(request, timeout=60) as opened:
        return json.load(opened)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
