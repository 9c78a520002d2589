/** Events of features that the journal lacks: a failing check, and a note for the next start after a stop. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { messageOf } from '../core/errors.ts';
import { replaceFile, textOf } from '../core/files.ts';
import type { Log } from '../core/log.ts';
import { lostEvent } from '../journal/engine-loop.ts';
import type { LostEvents } from '../journal/engine-loop.ts';
import type { Clock } from '../ports/clock.ts';

const SHOWN_MS = 86_400_000;
const Note = z.object({ events: z.int(), from: z.int(), to: z.int() });

export interface LostEventNotes {
  /** The newest loss of the last day that this run knows; null for none. */
  trouble(): string | null;
  /** Events of the loss that the previous stop noted. */
  events(): readonly DomainEvent[];
  /** Call with every committed event: a loss whose event is in the journal is not published again. */
  onDomainEvent(event: DomainEvent): void;
  /** Notes what a stop could not write, for the next start; null for nothing. */
  note(lost: LostEvents | null): Promise<void>;
}
export async function openLostEvents(
  data: string,
  clock: Pick<Clock, 'now'>,
  log: Log,
): Promise<LostEventNotes> {
  const file = path.join(data, 'events-lost.json');
  const text = await textOf(file);
  let noted: LostEvents | null = text === null ? null : readNote(text, clock.now());
  let newest: { readonly words: string; readonly at: number } | null = null;
  return {
    trouble: () => (newest !== null && Math.abs(clock.now() - newest.at) < SHOWN_MS ? newest.words : null),
    events: () => (noted === null ? [] : [lostEvent(noted)]),
    onDomainEvent(event) {
      if (event.type !== 'store.events_lost') return;
      const { events, from, to } = event.data;
      newest = { words: `${events} events are lost, ${from} to ${to}`, at: clock.now() };
      if (noted === null) return;
      noted = null;
      rm(file, { force: true }).catch((error: unknown) =>
        log.warn({ error: messageOf(error) }, 'the next start publishes again which events were lost'),
      );
    },
    async note(lost) {
      if (lost === null) return;
      const all: LostEvents =
        noted === null
          ? lost
          : { events: noted.events + lost.events, from: noted.from, to: Math.max(noted.to, lost.to) };
      await replaceFile(file, `${JSON.stringify(all)}\n`).catch((error: unknown) =>
        log.error(
          { ...all, error: messageOf(error) },
          'lost events could not be noted: the next start does not publish that they are lost',
        ),
      );
    },
  };
}
/** A note that cannot be read still shows that events were lost. */
function readNote(text: string, now: number): LostEvents {
  try {
    return Note.parse(JSON.parse(text));
  } catch {
    return { events: 1, from: now, to: now };
  }
}
