import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import type { ExportColumn } from '@offhook/contract/exports.ts';
import { rfc3339 } from '../../../core/clock.ts';
import type { Cell } from '../../../ports/conversations.ts';
import type { ConversationRecord, RecordedParticipant } from './record.ts';
import { timesOf } from './times.ts';

/** Columns that the row knows and the record does not. */
type RowColumn = 'id' | 'state' | 'revision' | 'erased';
/** How many those are; they come first. */
export const ROW_COLUMNS = 4;
const STORED = EXPORT_COLUMNS.slice(ROW_COLUMNS) as readonly Exclude<ExportColumn, RowColumn>[];
const NOBODY: RecordedParticipant = { extension: null, number: '', number_e164: null, name: '', trunk: null };
const moment = (ms: number | null): string => (ms === null ? '' : rfc3339(ms));

/** Who was reached: the first leg that answered, else the first that was wanted. */
function calledOf({ legs }: ConversationRecord): RecordedParticipant {
  const others = legs.filter((leg) => leg.role !== 'caller');
  return (others.find((leg) => leg.answered !== null) ?? others[0])?.participant ?? NOBODY;
}

/**
 * What an export shows of a conversation, after the row's own columns; stored as JSON in `conversations.cells`. What there is
 * not is an empty text, so that the JSON is nearly a line of CSV.
 */
export function cellsOf(record: ConversationRecord): readonly Cell[] {
  const { started, answered, ended, caller, legs, queues, agents, transfers } = record;
  const called = calledOf(record);
  const trunks = new Set(legs.flatMap((leg) => leg.participant.trunk ?? []));
  const cells: Record<Exclude<ExportColumn, RowColumn>, Cell> = {
    direction: record.direction,
    disposition: record.disposition,
    started_at: moment(started),
    answered_at: moment(answered),
    ended_at: moment(record.complete ? ended : null),
    ...timesOf(record),
    caller_number: caller?.number ?? '',
    caller_number_e164: caller?.number_e164 ?? '',
    caller_name: caller?.name ?? '',
    dialled: record.dialled,
    dialled_e164: record.dialled_e164 ?? '',
    called_number: called.number,
    called_number_e164: called.number_e164 ?? '',
    called_name: called.name,
    trunks: [...trunks].join(' '),
    extensions: record.extensions.join(' '),
    queues: queues.join(' '),
    agents: agents.join(' '),
    transfers: transfers.length,
    cause: record.cause ?? '',
    ended_by: record.ended_by ?? '',
  };
  return STORED.map((column) => cells[column]);
}
