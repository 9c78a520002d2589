import type { RuleAction } from '@offhook/contract/caller-rules.ts';
import { ServiceError } from '../../../core/errors.ts';
import type {
  CallerRuleVerbs,
  CustomerVerbs,
  PushVerbs,
  StoredCallerRule,
  StoredCustomer,
} from '../../../ports/engine-verbs.ts';
import type { CommandOptions } from '../../../ports/engine.ts';
import { ACTION_MS } from '../ami/connection.ts';
import type { ActionOptions, AmiConnection } from '../ami/connection.ts';
import type { ActionFields } from '../ami/codec.ts';
import { header } from '../ami/frame.ts';
import type { Frame } from '../ami/frame.ts';
import { ListVoid } from '../ami/pending.ts';
import {
  ALLOWED,
  ANONYMOUS,
  BLOCKED,
  CALLERS,
  CUSTOMERS,
  LANGUAGE_LENGTH,
  LAST,
  NO_RULE,
  OWNER_LENGTH,
} from '../conf/customer-contexts.ts';
import { WAKE_OVER, WAKE_SECONDS, WAKING_CHANNEL } from '../conf/wake-contexts.ts';
import { WAKEABLE } from '../conf/waking-part.ts';
import { dialled, language } from '../conf/text.ts';
import type { ConfText } from '../conf/text.ts';
import { storeNotWritten } from './store-rows.ts';

/*
 * DBGetTree  Family          DBGetTreeResponse: Key(/family/number) Val
 * DBPut      Family Key Val
 * DBDel      Family Key      an error where there is no such key
 * DBDelTree  Family          an error where there is no such family
 * DBGet      Family Key      DBGetResponse: Val; an error where there is no such key
 * Setvar     Channel Variable Value
 *
 * The engine searches its whole store for a tree, 90 ms of 100,000 numbers, and meanwhile no call reads it: a single number is
 * never read or deleted as a tree.
 */
const key = header('Key');
const text = header('Val');
/** The engine's text for a key that is not there. */
const NONE = 'DBGet: Database entry not found';
const KEY = new RegExp(`^(?:\\+?[0-9]{1,32}|${ANONYMOUS})$`);
const NONE_HERE = '-';
/** Actions on their way at once; a command waits behind as many. */
const AT_ONCE = 16;
/** Reading a full store takes a second. */
const ALL_MS = 60_000;

/** Mark, owner and language, filled up to a fixed length, and name: the dialplan takes them apart by length. */
function valueOf({ name, owner, blocked, language: spoken }: StoredCustomer): string {
  const extension = owner === null ? '' : dialled(owner, 'the owner of a customer');
  const of = spoken === undefined ? '' : language(spoken, 'the language of a customer');
  return `${blocked ? BLOCKED : NONE_HERE}${extension.padStart(OWNER_LENGTH, NONE_HERE)}${of.padEnd(LANGUAGE_LENGTH, NONE_HERE)}${name}`;
}
const HEAD_LENGTH = 1 + OWNER_LENGTH + LANGUAGE_LENGTH;
/** A value of an earlier version has no language, and is none. */
const HEAD = new RegExp(
  `^(?=.{${HEAD_LENGTH}}$)([-${BLOCKED}])-{0,10}([0-9]{0,10})(?:([a-z]{2}(?:_[A-Z]{2})?)-{0,3}|-{5})$`,
);
function customerOf(value: string): StoredCustomer | null {
  const head = HEAD.exec(value.slice(0, HEAD_LENGTH));
  if (head === null || value.length <= HEAD_LENGTH) return null;
  return {
    name: value.slice(HEAD_LENGTH),
    owner: head[2] || null,
    blocked: head[1] === BLOCKED,
    ...(head[3] === undefined ? {} : { language: head[3] }),
  };
}

const ACTIONS: Readonly<Record<RuleAction, string>> = { block: BLOCKED, allow: ALLOWED };
const markOf = (action: RuleAction | null): string => (action === null ? NO_RULE : ACTIONS[action]);
const ruleTextOf = ({ number, prefix, by }: StoredCallerRule): string =>
  `${markOf(number)}${markOf(prefix)}${by === null ? '' : dialled(by, 'who blocked a caller')}`;
const RULE = new RegExp(
  `^([${ALLOWED}${BLOCKED}${NO_RULE}])([${ALLOWED}${BLOCKED}${NO_RULE}])([0-9]{0,20})$`,
);
function ruleOf(value: string): StoredCallerRule | null {
  const [, number, prefix, by] = RULE.exec(value) ?? [];
  if (number === undefined) return null;
  const action = (mark: string | undefined): RuleAction | null =>
    mark === BLOCKED ? 'block' : mark === ALLOWED ? 'allow' : null;
  return { number: action(number), prefix: action(prefix), by: by || null };
}

/** Customers, rules for callers and extensions with an app, in the engine's own store. */
export const storeActions = (
  actions: () => AmiConnection,
  aside: <T>(work: (ami: AmiConnection) => Promise<T>) => Promise<T>,
): CustomerVerbs & CallerRuleVerbs & PushVerbs => {
  async function read(of: ActionFields, options: ActionOptions): Promise<string | null> {
    let found: string | null = null;
    const take = (_event: string, frame: Frame): void => void (found = frame.get(text) ?? null);
    try {
      await actions().list('DBGet', of, take, options);
    } catch (error) {
      if (!(error instanceof ListVoid)) throw error;
      if (error.message !== NONE) throw new ServiceError('engine_refused', error.message, { cause: error });
    }
    return found;
  }
  async function keep(of: ActionFields, value: string | null, options: CommandOptions): Promise<void> {
    const timed = { ...options, ms: ACTION_MS.member };
    if (value === null) await actions().action('DBDel', of, timed);
    else await actions().action('DBPut', { ...of, Val: value }, timed);
    // The answer to a write proves nothing, and a number that is gone already cannot be deleted.
    if ((await read(of, timed)) === value) return;
    throw storeNotWritten();
  }
  async function keepAll<T>(
    Family: ConfText,
    values: ReadonlyMap<string, T | null>,
    textOf: (value: T) => string,
    { signal }: CommandOptions,
  ): Promise<void> {
    const waiting = values.entries();
    const options = signal === undefined ? {} : { signal };
    let failed = false;
    const work = async (): Promise<void> => {
      for (const [Key, value] of waiting) {
        if (failed) return;
        try {
          if (!KEY.test(Key))
            throw new ServiceError('invalid_request', 'the number of a customer is not valid');
          await keep({ Family, Key }, value === null ? null : textOf(value), options);
        } catch (error) {
          failed = true;
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
  async function each(
    Family: ConfText,
    take: (key: string, value: string) => void,
    { signal }: CommandOptions,
  ): Promise<void> {
    const begin = `/${Family}/`;
    const row = (_event: string, frame: Frame): void => {
      const name = (frame.get(key) ?? '').slice(begin.length);
      if (KEY.test(name)) take(name, frame.get(text) ?? '');
    };
    const options = { ms: ALL_MS, ...(signal === undefined ? {} : { signal }) };
    try {
      await aside((ami) => ami.list('DBGetTree', { Family }, row, options));
    } catch (error) {
      if (!(error instanceof ListVoid)) throw error;
      throw new ServiceError('engine_refused', error.message, { cause: error });
    }
  }
  return {
    storedCustomers: (take, options = {}) =>
      each(CUSTOMERS, (number, value) => take(number, customerOf(value)), options),
    keepCustomers: (customers, options = {}) => keepAll(CUSTOMERS, customers, valueOf, options),
    storedCallerRules: (take, options = {}) =>
      each(CALLERS, (number, value) => take(number, ruleOf(value)), options),
    keepCallerRules: (rules, options = {}) => keepAll(CALLERS, rules, ruleTextOf, options),
    storedWakeable: (take, options = {}) => each(WAKEABLE, (extension) => take(extension), options),
    keepWakeable: (changes, options = {}) => keepAll(WAKEABLE, changes, () => '1', options),
    async answerWake(Channel, seconds, options = {}) {
      if (!WAKING_CHANNEL.test(Channel))
        throw new ServiceError('invalid_request', 'this is not a channel that waits for a mobile device');
      const [Variable, Value] = seconds === null ? [WAKE_OVER, '1'] : [WAKE_SECONDS, String(seconds)];
      const timed = { ...options, ms: ACTION_MS.member };
      const { ok, message } = await actions().action('Setvar', { Channel, Variable, Value }, timed);
      if (!ok) throw new ServiceError('engine_refused', message);
    },
    async forgetLastCallers(options = {}) {
      await actions().action('DBDelTree', { Family: LAST }, { ...options, ms: ACTION_MS.member });
      // The answer proves nothing, and is an error before the first call.
      let left = 0;
      await each(LAST, () => void (left += 1), options);
      if (left > 0)
        throw new ServiceError('store_unavailable', 'the engine still has the last callers of phones');
    },
  };
};
