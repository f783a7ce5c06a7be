/** Shows a wing with its rooms, or a room, and the drawers in it, the newest first. */
import { listDrawers, listPlaces, sum } from "./drawers.ts";
import { DrawerLine } from "./home.tsx";
import { Links } from "./links.tsx";
import { PlaceMap } from "./map.tsx";
import { Failure, Heading, href, LongList, useLoaded } from "./parts.tsx";
import { plain, plural } from "./words.ts";

type Props = { wing: string; room: string | undefined; changed: number };

export function PlaceView({ wing, room, changed }: Props) {
  const places = useLoaded(listPlaces, [], changed);
  const rooms = places.value?.get(wing) ?? [];
  const here = room === undefined ? sum(rooms) : (rooms.find(({ name }) => name === room)?.drawers ?? 0);
  return (
    <>
      <Crumbs wing={wing} room={room} />
      <h1 class="place">
        {plain(room ?? wing)}{" "}
        {places.value === undefined ? null : <small data-number="here">{plural(here, "drawer")}</small>}
      </h1>
      <Failure error={places.error} />
      {room === undefined && rooms.length > 1 ? (
        <section>
          <Heading>Rooms</Heading>
          <PlaceMap tiles={rooms} to={({ name }) => href("place", { wing, room: name })} label={`Rooms of ${wing}`} />
        </section>
      ) : null}
      {room === undefined ? <Links key={wing} wing={wing} changed={changed} /> : null}
      <section>
        <Heading aside="the newest first">Drawers</Heading>
        <LongList
          key={`${wing}\n${room}`}
          label="Drawers"
          rowHeight={64}
          inputs={[wing, room, changed]}
          load={(offset, limit) => listDrawers({ wing, room }, offset, limit)}
          row={(drawer) => <DrawerLine drawer={drawer} withPlace={room === undefined} />}
        />
      </section>
    </>
  );
}

export function Crumbs({ wing, room }: { wing: string; room?: string | undefined }) {
  return (
    <nav class="crumbs" aria-label="Where you are">
      <a href={href("")}>All wings</a> / <a href={href("place", { wing })}>{plain(wing)}</a>
      {room === undefined ? null : (
        <>
          {" / "}
          <a href={href("place", { wing, room })}>{plain(room)}</a>
        </>
      )}
    </nav>
  );
}
