/** The conversation as built from its call records; stored as JSON, served by REST (contract/conversations.ts). */
import type { z } from 'zod';
import type {
  ConversationDisposition,
  ConversationLeg,
  LegDisposition,
  QueueVisit,
  Transfer,
} from '@offhook/contract/conversations.ts';
import type { CallDirection } from '@offhook/contract/directions.ts';
import type { CallRecordFacts, CallRefusal } from '../../../ports/call-records.ts';
import type { EndpointKind } from '../../../ports/directory.ts';

/**
 * Times are whole milliseconds since 1970: each time is cut once, so that differences add up exactly. In an open
 * conversation, intervals that still last end at its newest record.
 */
export interface RecordedParticipant {
  readonly extension: string | null;
  readonly number: string;
  readonly number_e164: string | null;
  readonly name: string;
  readonly trunk: string | null;
}
type LegShape = z.infer<typeof ConversationLeg>;
export interface RecordedSegment {
  readonly state: LegShape['segments'][number]['state'];
  readonly from: number;
  readonly to: number;
  readonly with: readonly string[];
  readonly held_by: LegShape['segments'][number]['held_by'];
  readonly queue: string | null;
  readonly service: string | null;
}
export interface RecordedLeg {
  readonly leg_id: string;
  readonly role: LegShape['role'];
  readonly participant: RecordedParticipant;
  readonly endpoint: string | null;
  readonly device: EndpointKind | null;
  readonly dialled: string;
  readonly from: number;
  readonly answered: number | null;
  readonly to: number;
  /** Null while the leg lasts. */
  readonly ended_by: LegShape['ended_by'];
  readonly disposition: z.infer<typeof LegDisposition>;
  readonly cause: number | null;
  /** Missing unless a call to a number outside was refused. */
  readonly refused?: { readonly at: number } & Omit<CallRefusal, 'class'>;
  /** Missing unless an app was to be woken for this call. */
  readonly pushes?: readonly ({ readonly at: number } & NonNullable<CallRecordFacts['push']>)[];
  /** Without gaps from `from` to `to`; the sums by state follow from them. */
  readonly segments: readonly RecordedSegment[];
}
export interface RecordedTransfer {
  readonly kind: z.infer<typeof Transfer>['kind'];
  readonly at: number;
  readonly by: string | null;
  readonly forwarded_by?: string;
  readonly moved: string | null;
  readonly to: string;
  readonly to_leg: string | null;
  readonly outcome: z.infer<typeof Transfer>['outcome'];
}
export interface RecordedOffer {
  readonly extension: string | null;
  readonly leg_id: string;
  readonly from: number;
  readonly ring_ms: number;
  readonly disposition: z.infer<typeof LegDisposition>;
}
export interface RecordedVisit {
  readonly queue: string;
  readonly leg_id: string;
  readonly from: number;
  readonly to: number;
  readonly outcome: z.infer<typeof QueueVisit>['outcome'];
  readonly agent: string | null;
  readonly agent_leg: string | null;
  readonly offers: readonly RecordedOffer[];
}
/** Pure function of the call records (and `built_by`): the order and repetition of records do not change the result. */
export interface ConversationRecord {
  readonly id: string;
  readonly merged_from: readonly string[];
  readonly built_by: number;
  /** False while more call records may come. */
  readonly complete: boolean;
  readonly direction: CallDirection;
  readonly disposition: z.infer<typeof ConversationDisposition>;
  readonly cause: number | null;
  readonly ended_by: 'caller' | 'called' | 'exchange' | 'engine_lost' | null;
  readonly started: number;
  readonly answered: number | null;
  /** Time of the newest record while the conversation is not complete. */
  readonly ended: number;
  readonly ring_ms: number;
  readonly wait_ms: number;
  readonly talk_ms: number;
  readonly hold_ms: number;
  readonly park_ms: number;
  readonly billable_ms: number;
  readonly dialled: string;
  readonly dialled_e164: string | null;
  readonly caller: RecordedParticipant | null;
  readonly parties: readonly RecordedParticipant[];
  readonly extensions: readonly string[];
  readonly queues: readonly string[];
  readonly agents: readonly string[];
  readonly legs: readonly RecordedLeg[];
  readonly transfers: readonly RecordedTransfer[];
  readonly visits: readonly RecordedVisit[];
  /** Set when call records are missing and part of the conversation comes from the journal. */
  readonly observed?: 'journal';
}
