/** Shows the outcomes of a memory: its score, who gave it, the conversations that showed the memory, and the owner's own score. */
import type { MemoryTold } from "../protocol/outcome.ts";
import { call } from "./client.ts";
import { doneWith } from "./done.tsx";
import { Action, Failure, Heading, useLoaded } from "./parts.tsx";
import { plain, plural, time } from "./words.ts";

const OUTCOMES = ["worked", "partial", "failed"] as const;
const SHOWN_MAX = 8;

type Props = { id: string; isOwner: boolean; changed: number };

/** Shows the outcomes. Shows nothing for a drawer that has no score and was shown in no conversation. */
export function Outcomes({ id, isOwner, changed }: Props) {
  const asked = useLoaded(() => call("outcome.why", { id }), [id], changed);
  const told = asked.value;
  if (asked.error !== undefined) return <Failure error={asked.error} />;
  if (told === undefined || !told.found || (told.score === null && told.shownIn.length === 0)) return null;
  return (
    <section>
      <Heading aside={<span data-number="score">{scoreOf(told)}</span>}>What came of it</Heading>
      {told.score === null ? null : (
        <span class="bar" aria-hidden="true">
          <i style={{ width: `${100 * told.score}%` }} />
        </span>
      )}
      {isOwner ? <OwnWord id={told.id} onDone={asked.again} /> : null}
      <ul class="rows">
        {told.outcomes
          .toReversed()
          .slice(0, SHOWN_MAX)
          .map(({ at, outcome, by, reason }) => (
            <li key={at} class="pad-y">
              <span class="one">
                {outcome}
                {reason === null || reason === "" ? "" : `: ${plain(reason)}`}
              </span>
              <small>
                {[time(at), by === null ? "" : `by ${plain(by)}`].filter((part) => part !== "").join(" · ")}
              </small>
            </li>
          ))}
      </ul>
      {told.shownIn.length === 0 ? null : (
        <>
          <h3>Shown in</h3>
          <ul class="rows">
            {told.shownIn.slice(0, SHOWN_MAX).map(({ conversation, turn, at }) => (
              <li key={`${conversation} ${turn}`} class="pad-y">
                <span class="one">{plain(conversation)}</span>
                <small>
                  turn {turn} · {time(at)}
                </small>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

export function OwnWord({ id, onDone }: { id: string; onDone: () => void }) {
  const score = async (outcome: string) => {
    const given = { outcome: "unknown", memory_scores: { [id]: outcome } };
    await doneWith(`Noted: it ${NOTED[outcome] ?? outcome}.`, true, () => call("outcome.score", given));
    onDone();
  };
  return (
    <div class="buttons">
      <span class="quiet">Your word:</span>
      {OUTCOMES.map((outcome) => (
        <Action key={outcome} run={() => score(outcome)}>
          {outcome}
        </Action>
      ))}
    </div>
  );
}

const NOTED: Readonly<Record<string, string>> = { worked: "worked", partial: "helped in part", failed: "failed" };

function scoreOf({ score, uses }: MemoryTold): string {
  return score === null ? plural(uses, "use") : `score ${score.toFixed(2)} after ${plural(uses, "use")}`;
}
