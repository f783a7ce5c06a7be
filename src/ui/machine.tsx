/** Shows what the owner manages on the broker's machine: the TCP door's tokens, and the waiting and refused writes in its spool. */
import type { SpoolReport, TokenReport } from "../protocol/spec.ts";
import { call } from "./client.ts";
import { announce } from "./done.tsx";
import { Action, Failure, Heading, type Loaded, useLoaded } from "./parts.tsx";
import { age, count, plain, plural, time } from "./words.ts";

export function Tokens() {
  const list = useLoaded(() => call("token.list", {}), []);
  const revoke = async (name: string) => {
    await call("token.revoke", { name });
    announce({ says: `Revoked ${plain(name)}; its connections end within a second.` });
    list.again();
  };
  const tokens = list.value?.tokens ?? [];
  return (
    <section>
      <Heading aside="for clients over TCP">Tokens</Heading>
      <Failure error={list.error} />
      {list.value === undefined || tokens.length > 0 ? null : (
        <p class="quiet">
          None. <code>palace bridge token add NAME</code> makes one.
        </p>
      )}
      <ul class="rows" aria-label="Tokens">
        {tokens.map((token) => (
          <li key={token.name} data-token={token.name}>
            <div>
              <strong>{plain(token.name)}</strong> {token.role} <small>{aboutToken(token)}</small>
            </div>
            <Action kind="danger" run={() => revoke(token.name)}>
              Revoke<span class="sr"> {plain(token.name)}</span>
            </Action>
          </li>
        ))}
      </ul>
    </section>
  );
}

function aboutToken({ createdAtMs, expiresAtMs, usedAtMs }: TokenReport): string {
  const used = usedAtMs === null ? "not used since the broker started" : `used ${age(usedAtMs)}`;
  const end = expiresAtMs === null ? "does not expire" : `until ${time(expiresAtMs)}`;
  return `${used} · made ${time(createdAtMs)} · ${expiresAtMs !== null && expiresAtMs <= Date.now() ? "expired" : end}`;
}

export function Waiting({ changed }: { changed: number }) {
  const spool = useLoaded(() => call("spool.list", {}), [], changed);
  const { waiting, refused, totals } = spool.value ?? { waiting: [], refused: [], totals: { waiting: 0, refused: 0 } };
  return (
    <section>
      <Heading aside={<Totals totals={totals} />}>Writes kept on this machine</Heading>
      <Failure error={spool.error} />
      {spool.value === undefined || totals.waiting + totals.refused > 0 ? null : <p class="quiet">Nothing waits.</p>}
      <ul class="rows" aria-label="Writes kept on this machine">
        {refused.map((write) => (
          <Refused key={write.name} write={write} spool={spool} />
        ))}
        {waiting.map(({ name, tool, agent, atMs }) => (
          <li key={name} class="pad-y" data-write={name}>
            <span class="one">
              {plain(tool)} of {plain(agent)} waits
            </span>
            <small>{age(atMs)}</small>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Totals({ totals }: Pick<SpoolReport, "totals">) {
  return (
    <span data-number="spool">
      {count(totals.waiting)} waiting, {count(totals.refused)} refused
    </span>
  );
}

type RefusedProps = { write: SpoolReport["refused"][number]; spool: Loaded<SpoolReport> };

function Refused({ write: { name, tool, why, atMs }, spool }: RefusedProps) {
  const send = async () => {
    const { delivered, refused } = await call("spool.sendAgain", { name });
    const left = refused === 0 ? "" : ` ${plural(refused, "write")} refused again.`;
    announce({ says: `Sent again: ${plural(delivered, "write")} delivered.${left}` });
    spool.again();
  };
  return (
    <li data-write={name}>
      <div>
        <strong>{plain(tool)}</strong> was refused{atMs === 0 ? "" : ` ${age(atMs)}`}{" "}
        <small dir="auto">{plain(why)}</small>
      </div>
      <Action run={send}>
        Send again<span class="sr"> {plain(tool)}</span>
      </Action>
    </li>
  );
}
