/** Collector that receives spans over OTLP (HTTP with JSON), and stores them for the test. */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

type Value = { stringValue?: string; intValue?: number; boolValue?: boolean };
type Attributes = { key: string; value: Value }[];
export type ReceivedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: number;
  tookNs: bigint;
  service: string;
  attributes: Record<string, string | number | boolean>;
};
export type SpanCollector = AsyncDisposable & { url: string; spans: ReceivedSpan[]; texts: string[]; status: number };

type Wire = Omit<ReceivedSpan, "attributes"> & Record<`${"start" | "end"}TimeUnixNano`, string> & Record<string, never>;
type Request = {
  resourceSpans: {
    resource: { attributes: Attributes };
    scopeSpans: { spans: (Wire & { attributes: Attributes })[] }[];
  }[];
};

export async function startCollector(): Promise<SpanCollector> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      collector.texts.push(body);
      if (collector.status === 200) collector.spans.push(...spansIn(JSON.parse(body) as Request));
      response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const collector: SpanCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ spans: [], texts: [], status: 200 },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return collector;
}

function spansIn({ resourceSpans }: Request): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId, name, kind, attributes, ...times }) => ({
        ...{ traceId, spanId, parentSpanId, name, kind },
        tookNs: BigInt(times["endTimeUnixNano"]) - BigInt(times["startTimeUnixNano"]),
        service: String(readAttributes(resource.attributes)["service.name"]),
        attributes: readAttributes(attributes),
      })),
    ),
  );
}

function readAttributes(given: Attributes): ReceivedSpan["attributes"] {
  return Object.fromEntries(
    given.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.boolValue ?? ""]),
  );
}
