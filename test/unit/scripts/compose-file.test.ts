/** Checks the text of the compose file, without Docker. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "../../../scripts/main.ts";

type Service = {
  ports?: unknown;
  cap_drop: string[];
  security_opt: string[];
  read_only: boolean;
  init: boolean;
  networks?: string[];
  volumes: string[];
  stop_grace_period: string;
  stop_signal?: string;
};

const text = readFileSync(join(ROOT, "docker-compose.yml"), "utf8");
const { services, networks } = parse(text, { merge: true }) as {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean }>;
};

test("every variable in the compose file has a default", () => {
  const bare = [...text.matchAll(/\$\{?(\w+)(:[-+])?/g)].filter(([, , fallback]) => fallback === undefined);
  expect(text).toContain("${");
  expect(bare.map(([variable]) => variable)).toEqual([]);
});

test.each(Object.entries(services))("the service %s runs without capabilities and publishes no port", (_, service) => {
  expect(service).toMatchObject({
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
    read_only: true,
    init: true,
  });
  expect(service.ports).toBeUndefined();
  expect(service.stop_grace_period).toBeDefined();
});

test("only the broker shares chroma's network, and this network has no access to other networks", () => {
  expect(services["chroma"]?.networks).toEqual(["store"]);
  expect(networks["store"]).toEqual({ internal: true });
  const onStore = Object.entries(services).filter(([, { networks }]) => networks?.includes("store"));
  expect(onStore.map(([name]) => name)).toEqual(["chroma", "broker"]);
});

test("only broker, chroma and the optional service `owner` can write the palace", () => {
  const mounts = Object.entries(services).flatMap(([name, { volumes }]) =>
    volumes.filter((volume) => volume.startsWith("devbox-palace:")).map((volume) => [name, volume]),
  );
  expect(mounts).toEqual([
    ["chroma", "devbox-palace:/palace"],
    ["broker", "devbox-palace:/palace"],
    ["devbox", "devbox-palace:/palace:ro"],
    ["owner", "devbox-palace:/palace"],
  ]);
  expect(services["owner"]).toMatchObject({ profiles: ["owner"], network_mode: "none" });
});

test("compose stops chroma with SIGINT", () => {
  expect(services["chroma"]?.stop_signal).toBe("SIGINT");
});
