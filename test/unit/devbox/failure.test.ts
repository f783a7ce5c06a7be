/** Tests the hint after a failed compose. The outputs are shortened outputs of compose 2.26. */
import { expect, test } from "vitest";
import { refusedSettings } from "../../../src/devbox/compose.ts";
import { composeFailed, lastError } from "../../../src/devbox/failure.ts";

const place = { root: "/stack", env: {} };
const OUR_STEP = "RUN --mount=type=secret,id=ca     NODE_EXTRA_CA_CERTS=/run/secrets/ca npm ci --ignore-scripts";
/** Returns the output of a build whose step printed `heard`. */
const build = (heard: string): string =>
  [
    `#5 [deps 4/4] ${OUR_STEP}`,
    `#5 0.150 ${heard}`,
    `#5 ERROR: process "/bin/sh -c ${OUR_STEP}" did not complete successfully: exit code: 1`,
    "------",
    ` > [deps 4/4] ${OUR_STEP}:`,
    `0.150 ${heard}`,
    "------",
    "Dockerfile.base:49",
    "--------------------",
    `  49 | >>> ${OUR_STEP}`,
    "--------------------",
    `failed to solve: process "/bin/sh -c ${OUR_STEP}" did not complete successfully: exit code: 1`,
  ].join("\n");
/** Returns the output of a successful build whose containers then failed. */
const afterBuild = (error: string): string =>
  [`#5 [deps 4/4] ${OUR_STEP}`, "#5 CACHED", "#6 DONE 0.1s", " Container p-broker-1  Starting", error].join("\n");

test.each([
  ["npm error code SELF_SIGNED_CERT_IN_CHAIN"],
  ["curl: (60) SSL certificate problem: unable to get local issuer certificate"],
])("the hint after a refused certificate in a build explains the proxy: %s", (heard) => {
  const error = composeFailed("an image could not be built", build(heard), place);
  expect(error.hint).toContain("EXTRA_CA_CERTS=/path");
  expect(error.message).toContain(heard);
});

test.each([
  [build("npm error code EUSAGE"), "npm error code EUSAGE", /docker compose .* logs$/],
  [build("write: no space left on device"), "no space left", /docker system df/],
  [build("npm error code ENOTFOUND"), "npm error code ENOTFOUND", /check the network/],
  [
    afterBuild("Error response from daemon: invalid volume specification: '/tmp/a:b:/workspace:rw'"),
    "/tmp/a:b",
    /^check the paths in \/stack\/\.env/,
  ],
  [
    afterBuild('Error response from daemon: error mounting "/etc/hostname" to rootfs: not a directory'),
    "/etc/hostname",
    /^check the paths/,
  ],
  [afterBuild("dependency failed to start: container p-broker-1 is unhealthy"), "p-broker-1", /logs broker$/],
  [
    "failed to solve: node:24: failed to resolve source metadata for docker.io/library/node:24: failed to do request: x509: certificate signed by unknown authority",
    "failed to solve: node:24",
    /^add the proxy's certificate to the engine's machine/,
  ],
])("the hint after another failure uses the last error and not the Dockerfile's text (%#)", (said, shown, hint) => {
  const error = composeFailed("the stack did not become healthy", said, place);
  expect(error).toMatchObject({ code: "BROKER_START_FAILED", hint: expect.stringMatching(hint) });
  expect(error.message).toContain(shown);
  expect(`${error.message} ${error.hint}`).not.toMatch(/inspects TLS|npm ci/);
});

test("without a captured error the message refers to the lines above", () => {
  expect(lastError("")).toEqual([]);
  expect(composeFailed("the stack did not end", "", place).message).toBe(
    "the stack did not end; the lines above say why",
  );
});

test.each([
  [
    'failed to read /a b/.env.devbox: line 3: unexpected character "!" in variable name "KEY!=1"',
    "/a b/.env.devbox, line 3",
  ],
  ["failed to read /stack/.env: line 12: unterminated quoted value 'x", "/stack/.env, line 12"],
  ["failed to read /stack/.env.devbox: unterminated quoted value 'x", "/stack/.env.devbox"],
  ['time="1" level=warning msg="old"\ninvalid project name', "/stack/.env"],
])("the hint for settings that compose refuses names the file and line: %s", (said, where) => {
  const error = refusedSettings(said, place.root);
  expect(error).toMatchObject({ code: "CONFIG_BAD_VALUE", hint: `look into ${where}` });
  expect(error.message).toContain(said.split("\n").at(-1));
});
