import type { ConfText } from './text.ts';

/**
 * The durable call record, as `cel_custom` of Asterisk 22.10 writes it to `celFile(instance)`: delimiter separated, every
 * field in double quotes, a quote inside a value doubled, one record closed by LF. A real line:
 *
 * `"BRIDGE_ENTER","1795226931.991834","","PJSIP/1001-00000002","1795226931.5","1795226931.4","1001","Zoë Ünal","","","1002","1002","internal","Dial","PJSIP/1002/sip:1002@127.0.0.1:5071,30","PJSIP/1002-00000003","","","{""bridge_id"":""d36c58df-0425-4860-9f6f-987624e8aa6b"",""bridge_technology"":""simple_bridge""}"`
 *
 * Values are written raw: a caller's name can hold CR, LF, `","`, emoji and bytes that are no UTF-8 (all tried), so a
 * record may span lines; it is complete when the number of quotes is even and the byte after is LF. The JSON format of the
 * module is not used because it leaves backslashes unescaped and so writes broken JSON (tried). The first field is a
 * fixed upper-case word and quotes inside values are doubled, so a line beginning with `"` and a letter A–Z is always the
 * start of a record and never the inside of a value: a reader that lost its place finds the next record by `RECORD_START`.
 */
export const CEL_FIELDS = [
  /** CHAN_START … USER_DEFINED; see `CEL_EVENTS`. Never a word chosen by a caller or the dialplan. */
  'eventenum',
  /** Seconds since 1970 `.` six digits of microseconds, whatever the zone. */
  'eventtime',
  /** Name of a USER_DEFINED event; `MOH_STREAM_BEGIN`, `FILE_STREAM_END` and so on for the STREAM events; else empty. */
  'userdeftype',
  'channame',
  'uniqueid',
  'linkedid',
  /** Caller's number, name, ANI; redirecting number; dialled number. */
  'num',
  'name',
  'ani',
  'rdnis',
  'dnid',
  'exten',
  'context',
  'appname',
  'appdata',
  /** BRIDGE_ENTER and BRIDGE_EXIT: the other channels in the bridge, separated by commas. */
  'peer',
  'userfield',
  'accountcode',
  /** JSON object of the event (hang-up cause, bridge id, transfer target), or empty. */
  'eventextra',
] as const;
export type CelField = (typeof CEL_FIELDS)[number];

/** True for the first bytes of a line that begins a record. */
export const RECORD_START: RegExp = /^"[A-Z]/;

/**
 * The events that are written. STREAM_BEGIN and STREAM_END are the trace of hold, which has no type of its own: music
 * on hold starts (`MOH_STREAM_BEGIN`) on the channel of the party that is *being held*, while it is in a bridge.
 */
export const CEL_EVENTS = [
  'CHAN_START',
  'CHAN_END',
  'ANSWER',
  'HANGUP',
  'APP_START',
  'APP_END',
  'BRIDGE_ENTER',
  'BRIDGE_EXIT',
  'BLINDTRANSFER',
  'ATTENDEDTRANSFER',
  'PICKUP',
  'FORWARD',
  'PARK_START',
  'PARK_END',
  'LOCAL_OPTIMIZE_BEGIN',
  'LOCAL_OPTIMIZE',
  'LINKEDID_END',
  'STREAM_BEGIN',
  'STREAM_END',
  'USER_DEFINED',
] as const;
export type CelEvent = (typeof CEL_EVENTS)[number];

/** Applications whose beginning and end are written (APP_START, APP_END). */
export const CEL_APPS = [
  'dial',
  'queue',
  'park',
  'parkedcall',
  'voicemail',
  'voicemailmain',
  'pickup',
  'echo',
  'musiconhold',
  'background',
  'waitexten',
  'confbridge',
] as const;

/** Names of the USER_DEFINED events that the dialplan writes; the text after the name is in `eventextra`. */
export const QUEUE_LEFT = 'OFFHOOK_QUEUE_LEFT' as ConfText;
/** `extension:<extension>:<file>`, `queue:<name>:<file>` or `ring_group:<name>:<file>`, written when a call that is recorded by rule is answered. */
export const RECORDING = 'OFFHOOK_RECORDING' as ConfText;
/** `<reason>:<call limit>:<class>:<extension>` of a call to a number outside that the dialplan refused. */
export const REFUSED = 'OFFHOOK_REFUSED' as ConfText;
/** `rule` or `customer`: the reason for the rejection of a blocked caller. */
export const REJECTED = 'OFFHOOK_REJECTED' as ConfText;
/** `room-<conference>-<extension>` or `box-<mailbox>-<extension>` of a wrong PIN after which no PIN is accepted for a time; `outside` for a caller without an extension. */
export const PINS_REFUSED = 'OFFHOOK_PINS_REFUSED' as ConfText;
/** `<extension>:<number shown>:<address of the phone>:<shared phone>` of a call to an emergency number. */
export const EMERGENCY = 'OFFHOOK_EMERGENCY' as ConfText;
/** The extension whose feature code blocked its last caller. */
export const CALLER_BLOCKED = 'OFFHOOK_CALLER_BLOCKED' as ConfText;
/** `<extension>:<outcome>:<milliseconds>` of a call that waited for an app, on the channel that waited. */
export const PUSHED = 'OFFHOOK_PUSH' as ConfText;
/** The number that a feature code left for the calls of an extension, on the channel of its caller. */
export const FORWARDED = 'OFFHOOK_FORWARD' as ConfText;
