import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { bridgeId, callId, channelId } from '@offhook/contract/ids.ts';
import type { ChannelId, NodeId } from '@offhook/contract/ids.ts';
import type {
  CallRecord,
  CallRecordFacts,
  CallRecordType,
  PinsRefused,
  QueueStatus,
} from '../../../ports/call-records.ts';
import {
  CALLER_BLOCKED,
  CEL_FIELDS,
  EMERGENCY,
  FORWARDED,
  PINS_REFUSED,
  PUSHED,
  QUEUE_LEFT,
  RECORDING,
  REFUSED,
  REJECTED,
} from '../conf/cel-format.ts';
import type { CelEvent, CelField } from '../conf/cel-format.ts';
import { SHARED_PHONE } from '../conf/shared-phone-contexts.ts';
import { isHealthCall } from '../health-call.ts';
import { describeChannel, sipSerialOf } from '../events/names.ts';
import { splitRecords } from './split.ts';
import { LISTENING_CONTEXTS, NO_NUMBERS } from '../conf/call-contexts.ts';

type Fields = Readonly<Record<CelField, string>>;

const TYPES: Readonly<Record<Exclude<CelEvent, 'STREAM_BEGIN' | 'STREAM_END'>, CallRecordType>> = {
  CHAN_START: 'channel_start',
  CHAN_END: 'channel_end',
  ANSWER: 'answer',
  HANGUP: 'hangup',
  APP_START: 'app_start',
  APP_END: 'app_end',
  BRIDGE_ENTER: 'bridge_enter',
  BRIDGE_EXIT: 'bridge_exit',
  BLINDTRANSFER: 'blind_transfer',
  ATTENDEDTRANSFER: 'attended_transfer',
  PICKUP: 'pickup',
  FORWARD: 'forward',
  PARK_START: 'park_start',
  PARK_END: 'park_end',
  LOCAL_OPTIMIZE_BEGIN: 'local_optimize_begin',
  LOCAL_OPTIMIZE: 'local_optimize',
  LINKEDID_END: 'linked_end',
  USER_DEFINED: 'user_defined',
};
const STREAMS: Readonly<Record<string, CallRecordType>> = {
  MOH_STREAM_BEGIN: 'music_start',
  MOH_STREAM_END: 'music_end',
};
const QUEUE_STATUS: Readonly<Record<string, QueueStatus>> = {
  TIMEOUT: 'timeout',
  FULL: 'full',
  JOINEMPTY: 'empty_join',
  JOINUNAVAIL: 'empty_join',
  LEAVEEMPTY: 'empty_leave',
  LEAVEUNAVAIL: 'empty_leave',
  EXIT_KEY: 'exit_key',
  WITHDRAW: 'withdrawn',
  CONTINUE: 'continued',
};

/** Longer values are cut: they come from callers and are shown to people. */
const VALUE_LIMIT = 1024;

/** The values of one record; null where quoting or number of fields differ from `CEL_FIELDS`. */
function readFields(text: string): Fields | null {
  const fields: Partial<Record<CelField, string>> = {};
  let count = 0;
  for (let at = 0; ; at += 1) {
    if (text[at] !== '"') return null;
    let end = text.indexOf('"', at + 1);
    while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
    if (end === -1) return null;
    const value = text.slice(at + 1, end);
    fields[CEL_FIELDS[count]!] = value.includes('"') ? value.replaceAll('""', '"') : value;
    count += 1;
    at = end + 1;
    if (at === text.length) break;
    if (text[at] !== ',' || count >= CEL_FIELDS.length) return null;
  }
  return count === CEL_FIELDS.length ? (fields as Fields) : null;
}

/** `<seconds>.<six digits>` as microseconds; null also beyond the year 2255, where they are no longer exact numbers. */
function readTime(text: string): number | null {
  const m = /^(\d{9,10})\.(\d{6})$/.exec(text);
  const at_us = m ? Number(m[1]) * 1_000_000 + Number(m[2]) : null;
  return at_us !== null && Number.isSafeInteger(at_us) ? at_us : null;
}

/**
 * The file name begins with the recorded channel, and ends with the node (not in earlier versions); the record belongs to the channel
 * that answered.
 */
const RECORDING_TEXT =
  /^(extension|queue|ring_group):([A-Za-z0-9_-]{1,64}):(([A-Za-z0-9.-]{1,100})-\d{1,12}(?:-[a-z][a-z0-9]{0,15})?\.wav)$/;

/** Written by our own dialplan, but any step of custom/extensions.conf can write a record of this name too. */
const REFUSED_TEXT =
  /^(class|hours|country|calls|budget):([a-z0-9_-]{0,40}):(local|national|mobile|international|premium):([0-9]{1,20})$/;
function refusalOf(text: string): CallRecordFacts['refused'] {
  const [, reason, limit, kind, extension] = REFUSED_TEXT.exec(text) ?? [];
  return reason === undefined
    ? undefined
    : ({ reason, call_limit: limit || null, class: kind, extension } as CallRecordFacts['refused']);
}

const EMERGENCY_TEXT = /^([0-9]{0,20}):([+0-9]{0,40}):([0-9A-Fa-f.:[\]]{0,80}?)(?::(desk_[0-9]{1,15})?)?$/;
function emergencyOf(text: string | undefined): CallRecordFacts['emergency'] {
  const [, extension, callback = '', at = '', phone] = EMERGENCY_TEXT.exec(text ?? '') ?? [];
  if (extension === undefined) return undefined;
  const address = at.replace(/:[0-9]{1,5}$/, '').replace(/[[\]]/g, '');
  return { extension, callback, address, ...(phone === undefined ? {} : { phone }) };
}
const PINS_TEXT = /^(room|box)-([a-z0-9_-]{1,64})-(?:([0-9]{1,20})|outside)$/;
function pinsOf(text: string | undefined): PinsRefused | undefined {
  const [, kind, key, extension = null] = PINS_TEXT.exec(text ?? '') ?? [];
  if (key === undefined) return undefined;
  return { kind: kind === 'room' ? 'conference' : 'mailbox', key, extension };
}
const PUSHED_TEXT = /^([0-9]{1,20}):(registered|sent|late|refused|away):([0-9]{1,9})$/;
function pushOf(text: string | undefined): CallRecordFacts['push'] {
  const [, extension, outcome, ms] = PUSHED_TEXT.exec(text ?? '') ?? [];
  if (extension === undefined) return undefined;
  return { extension, outcome, after_ms: Number(ms) } as CallRecordFacts['push'];
}
const REJECTED_BY = ['rule', 'customer'] as const;

function readFacts(node: NodeId, f: Fields): CallRecordFacts | null {
  let extra: Record<string, unknown> = {};
  if (f.eventextra.startsWith('{')) {
    try {
      extra = JSON.parse(f.eventextra) as Record<string, unknown>;
    } catch {
      // A user-defined event may contain any text.
      if (f.eventenum !== 'USER_DEFINED') return null;
    }
  }
  const text = (key: string): string | undefined => {
    const value = extra[key];
    return typeof value === 'string' && value !== '' ? cut(value) : undefined;
  };
  const bridge = text('bridge_id');
  const other =
    text('transferee_channel_uniqueid') ?? text('pickup_channel_uniqueid') ?? text('channel2_uniqueid');
  const second = text('channel2_uniqueid');
  const waits = text('app') !== undefined;
  const talked = f.eventenum === 'ATTENDEDTRANSFER' && !waits && second !== f.uniqueid;
  const cause = extra['hangupcause'];
  /** Text after the name of a user-defined event. */
  const said = (name: string): string | undefined => (f.userdeftype === name ? text('extra') : undefined);
  const left = said(QUEUE_LEFT);
  const [, by, of, file, recorded] = RECORDING_TEXT.exec(said(RECORDING) ?? '') ?? [];
  const facts: Record<keyof CallRecordFacts, unknown> = {
    bridge: bridge === undefined ? undefined : bridgeId(node, bridge),
    holding: text('bridge_technology') === 'holding_bridge' ? true : undefined,
    cause: typeof cause === 'number' ? cause : undefined,
    source: text('hangupsource'),
    dial_status: text('dialstatus'),
    target: text('extension') ?? text('forward') ?? said(FORWARDED),
    other: other === undefined ? undefined : channelId(node, other),
    replaces: second === undefined || !waits ? undefined : channelId(node, second),
    joins: second === undefined || !talked ? undefined : channelId(node, second),
    other_name: text('retriever'),
    listens: LISTENING_CONTEXTS.has(f.context) ? true : undefined,
    queue: f.appname === 'Queue' ? f.appdata.split(',', 1)[0] || undefined : undefined,
    recording: recorded === undefined ? undefined : { by, of, file, channel: channelId(node, recorded) },
    refused: refusalOf(said(REFUSED) ?? ''),
    emergency: emergencyOf(said(EMERGENCY)),
    pins_refused: pinsOf(said(PINS_REFUSED)),
    push: pushOf(said(PUSHED)),
    rejected: REJECTED_BY.find((by) => by === said(REJECTED)),
    blocks_caller: /^[0-9]{1,20}$/.exec(said(CALLER_BLOCKED) ?? '')?.[0],
    queue_status: left !== undefined && Object.hasOwn(QUEUE_STATUS, left) ? QUEUE_STATUS[left] : undefined,
  };
  const known: Record<string, unknown> = {};
  for (const name of Object.keys(facts) as (keyof CallRecordFacts)[])
    if (facts[name] !== undefined) known[name] = facts[name];
  return known;
}

function typeOf(f: Fields): CallRecordType | undefined {
  if (f.eventenum === 'USER_DEFINED' && f.userdeftype === FORWARDED) return 'forward';
  if (Object.hasOwn(TYPES, f.eventenum)) return TYPES[f.eventenum as keyof typeof TYPES];
  const isStream = f.eventenum.startsWith('STREAM_') && Object.hasOwn(STREAMS, f.userdeftype);
  return isStream ? STREAMS[f.userdeftype] : undefined;
}

/** Text a database accepts: bounded, and without NUL, which some databases reject. */
const cut = (text: string): string =>
  (text.length > VALUE_LIMIT ? text.slice(0, VALUE_LIMIT) : text).replaceAll('\0', '\ufffd');

/**
 * One record in our words. `ignored` for events that do not concern a call (a played sound, an unknown type of a newer engine),
 * `malformed` for anything else, and only the id for a SIP channel of a test call.
 */
export function decodeRecord(node: NodeId, bytes: Buffer): CallRecord | ChannelId | 'ignored' | 'malformed' {
  // Old phones send Latin-1, in which every byte is valid, so nothing is lost.
  const f = readFields(bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1'));
  const at_us = f && readTime(f.eventtime);
  if (!f || at_us === null || f.uniqueid === '' || f.linkedid === '') return 'malformed';
  if (isHealthCall(f.uniqueid, f.channame))
    return sipSerialOf(f.channame) === null ? 'ignored' : channelId(node, f.uniqueid);
  const type = typeOf(f);
  if (type === undefined) return /^[A-Z_]+$/.test(f.eventenum) ? 'ignored' : 'malformed';
  const facts = readFacts(node, f);
  if (facts === null) return 'malformed';
  const { endpoint: device, pair } = describeChannel(f.channame, f.accountcode);
  // The dialplan gives a call of a shared phone the extension of its person as account.
  const person = SHARED_PHONE.test(device ?? '') && /^[0-9]{1,20}$/.test(f.accountcode);
  const endpoint = person ? f.accountcode : device;
  return {
    type,
    name: type === 'user_defined' ? cut(f.userdeftype) : '',
    at_us,
    channel: channelId(node, f.uniqueid),
    call: callId(node, f.linkedid),
    channel_name: cut(f.channame),
    // Later records may have the name of a channel that this one replaced.
    ...(type === 'channel_start' ? { sip_serial: sipSerialOf(f.channame) } : {}),
    endpoint,
    pair,
    caller_number: cut(f.num),
    caller_name: cut(f.name),
    // The engine has several words for a missing number; the record has none.
    dialled: NO_NUMBERS.has(f.exten) ? 's' : cut(f.exten),
    context: cut(f.context),
    app: cut(f.appname).toLowerCase(),
    app_data: cut(f.appdata),
    peer: cut(f.peer),
    facts,
    key: hash('sha256', Buffer.concat([Buffer.from(`${node}\0`), bytes]), 'base64url').slice(0, 24),
  };
}

const LINE_END = Buffer.from('\n');
const INNER_START = /"(?=[A-Z_]{4,32}","\d{9,10}\.\d{6}",")/g;

/**
 * The complete record at the end of a malformed one: a write cut short by a crash shares its line with the next write. Quotes
 * inside values are doubled, so no value sent by a caller can look like the start of a record.
 */
export function salvage(bytes: Buffer): Buffer | null {
  const starts = [...bytes.toString('latin1').matchAll(INNER_START)]
    .map((m) => m.index)
    .filter((at) => at > 0);
  const at = starts.at(-1);
  if (at === undefined) return null;
  const found = splitRecords(Buffer.concat([bytes.subarray(at), LINE_END]), true).records[0];
  return found?.whole ? found.bytes : null;
}
