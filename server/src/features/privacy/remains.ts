import { rfc3339 } from '../../core/clock.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { Gone, Missing, Remains } from './service.ts';

const DAY_MS = 86_400_000;
/** Days for which lines of the audit trail are kept. */
const AUDIT_DAYS = 400;
/** Days for which a parked delivery of a webhook is kept. */
const PARKED_DAYS = 30;

/** Voicemail at engines whose nodes were not reached. */
export const unreachedVoicemail = (nodes: readonly string[]): Missing =>
  nodes.length === 0
    ? []
    : [
        {
          where: `voicemail at the engines of the nodes ${nodes.join(', ')}`,
          why: 'The node was away, or its files could not be read: see its log. A home node is searched while it runs, a standby only once it leads: repeat the request then.',
        },
      ];
/** Voicemail of an export without its audio. */
export const lackingAudio = (n: number): Missing =>
  n === 0
    ? []
    : [
        {
          where: n === 1 ? 'audio of 1 voicemail message' : `audio of ${n} voicemail messages`,
          why: 'The owner moved or deleted it meanwhile, the engine keeps its folder locked, or its file cannot be read: request the export again.',
        },
      ];
/** Data that an erasure leaves, with location, end of storage and reason. */
export const remainsOf =
  (journal_days: number) =>
  (subject: Subject, at_ms: number, gone: Gone): Remains => {
    const after = (days: number): string => rfc3339(at_ms + days * DAY_MS);
    return [
      {
        where: 'journal',
        until: after(journal_days),
        why: 'Events that were told already are not changed; they go with the days the journal keeps.',
      },
      {
        where: 'deliveries that a webhook parks later',
        until: after(journal_days + PARKED_DAYS),
        why: 'An event that its receiver has not accepted yet waits in the journal. If it is parked, a copy is kept for 30 days.',
      },
      {
        where: 'replies kept for Idempotency-Key',
        until: after(1),
        why: 'What was answered in the last 24 hours, for requests that are repeated.',
      },
      {
        where: "the engine's own call records",
        until: null,
        why: gone.files
          ? 'None that were there. What the engine writes later of calls in progress is stored without it, but stays in its own file until a later erasure, or until that has grown long and three newer ones are there.'
          : 'They could not be put aside now: they are deleted with a later erasure, or when they have grown long and three newer ones are there.',
      },
      ...(gone.traces
        ? []
        : [
            {
              where: 'the files and the log of the database',
              until: null,
              why: 'Former bytes of rows stay in them until the database overwrites them: PostgreSQL after a vacuum, SQLite once nobody else reads from its file.',
            },
          ]),
      ...(subject.kind === 'number'
        ? [
            {
              where: 'directory, call forwards, trunks and routes',
              until: null,
              why: 'A number that was entered as the mobile of a colleague, or to lead calls somewhere, is configuration: it goes where it was entered.',
            },
          ]
        : [
            {
              where: 'audit trail',
              until: after(AUDIT_DAYS),
              why: 'Who did what with the rights of an extension is kept for accountability.',
            },
            {
              where: 'directory, recordings and figures by agent',
              until: null,
              why: 'The extension itself is configuration; that a recording existed and the sums of a working day are kept under it.',
            },
          ]),
      ...unreachedVoicemail(gone.unreached).map((one) => ({ ...one, until: null })),
      ...(gone.recordings.length === 0
        ? []
        : [
            {
              where: `files of recordings at the nodes ${gone.recordings.join(', ')}`,
              until: null,
              why: 'Without OFFHOOK_SHARED_FILES the recordings of the engine of a home node lie on its machine: its node deletes the files of erased recordings within an hour while it runs.',
            },
          ]),
      {
        where: 'logs, backups, and systems that were sent events or files',
        until: null,
        why: 'They are outside the database: rotate logs, erase in backups and tell receivers.',
      },
    ];
  };
