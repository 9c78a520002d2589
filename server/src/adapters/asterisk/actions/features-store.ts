import type { EngineSnapshot, ExtensionFeatures, RingingDevices } from '../../../ports/engine-state.ts';
import { FEATURES_OFF, KIND_PAIRS } from '../../../ports/engine-state.ts';
import type { AmiConnection } from '../ami/connection.ts';
import { header } from '../ami/frame.ts';
import type { Frame } from '../ami/frame.ts';
import { KEYS, STORE } from '../conf/self-service-contexts.ts';
import { signedIn } from './phones.ts';
import { storeRows } from './store-rows.ts';
import { switchesIn } from './switches.ts';

/*
 * DBGetTree  Family Key    DBGetTreeResponse: Key(/family/extension/key) Val
 */
const key = header('Key');
const value = header('Val');
/** A row of another shape was created by hand and is ignored. */
const ROW = new RegExp(`^/${STORE}/([0-9]{1,20})/([a-z]{1,10})$`);
const NUMBER = /^\+?[0-9]{1,32}$/;
const WHOLE = /^[0-9]{1,15}$/;

const DEVICES: ReadonlySet<string> = new Set(['sip', 'webrtc', 'mobile', ...KIND_PAIRS]);

type Draft = { -readonly [K in keyof ExtensionFeatures]: ExtensionFeatures[K] };

/** A value as the dialplan reads it; one the dialplan ignores counts as none. */
function take(draft: Draft, name: string, text: string): void {
  const number = NUMBER.test(text) ? text : '';
  const whole = WHOLE.test(text) ? Number(text) : 0;
  if (name === KEYS.dnd) draft.dnd = text !== '';
  else if (name === KEYS.forward) draft.forward = number;
  else if (name === KEYS.forward_busy) draft.forward_busy = number;
  else if (name === KEYS.forward_no_answer) draft.forward_no_answer = number;
  else if (name === KEYS.ring_seconds) draft.ring_seconds = whole === 0 ? FEATURES_OFF.ring_seconds : whole;
  else if (name === KEYS.devices) draft.devices = DEVICES.has(text) ? (text as RingingDevices) : 'all';
  else if (name === KEYS.changed_at) draft.changed_at = whole;
}

type Found = Map<string, Draft>;
function into(found: Found, who: string, name: string, text: string): void {
  let draft = found.get(who);
  if (draft === undefined) found.set(who, (draft = { ...FEATURES_OFF }));
  take(draft, name, text);
}
type Row = (extension: string, name: string, text: string) => void;
async function eachRow(
  ami: Pick<AmiConnection, 'list'>,
  extension: string,
  signal: AbortSignal | undefined,
  row: Row,
): Promise<void> {
  const fields = { Family: STORE, Key: extension };
  const each = (_event: string, frame: Frame): void => {
    const [, who, name] = ROW.exec(frame.get(key) ?? '') ?? [];
    if (who !== undefined && name !== undefined) row(who, name, frame.get(value) ?? '');
  };
  await ami.list('DBGetTree', fields, each, signal === undefined ? {} : { signal });
}
/** Keys stored for one extension. Throws `ListVoid`. */
export async function storedKeys(
  ami: Pick<AmiConnection, 'list'>,
  extension: string,
  signal?: AbortSignal,
): Promise<Set<string>> {
  const names = new Set<string>();
  await eachRow(ami, extension, signal, (_who, name) => names.add(name));
  return names;
}
/** Stored settings of one extension. Throws `ListVoid`. */
export async function readFeatures(
  ami: Pick<AmiConnection, 'list'>,
  extension: string,
  signal?: AbortSignal,
): Promise<Map<string, ExtensionFeatures>> {
  const found: Found = new Map();
  await eachRow(ami, extension, signal, (who, name, text) => into(found, who, name, text));
  return found;
}

/** Data of people and phones in the engine's own store: call settings, shared phones and night switches, in one list. Throws `ListVoid`. */
export async function readHouse(
  ami: Pick<AmiConnection, 'list'>,
  signal: AbortSignal,
): Promise<Required<Pick<EngineSnapshot, 'features' | 'signed' | 'switches'>>> {
  const features: Found = new Map();
  const parts = {
    phone: new Map<string, string>(),
    at: new Map<string, string>(),
    switch: new Map<string, string>(),
  };
  for (const [name, text] of await storeRows(ami, STORE, signal)) {
    const [, part, rest] = /^(phone|at|switch)\/(.{1,64})$/.exec(name) ?? [];
    if (part !== undefined && rest !== undefined) parts[part as keyof typeof parts].set(rest, text);
    const [, who, setting] = ROW.exec(`/${STORE}/${name}`) ?? [];
    if (who === undefined || setting === undefined) continue;
    into(features, who, setting, text);
  }
  return { features, signed: signedIn(parts.phone, parts.at), switches: switchesIn(parts.switch) };
}
