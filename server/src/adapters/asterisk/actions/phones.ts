import { ServiceError } from '../../../core/errors.ts';
import type { SignedIn } from '../../../ports/engine-state.ts';
import type { PhoneVerbs } from '../../../ports/engine-verbs.ts';
import type { CommandOptions } from '../../../ports/engine.ts';
import { ACTION_MS } from '../ami/connection.ts';
import type { ActionFields } from '../ami/codec.ts';
import type { AmiConnection } from '../ami/connection.ts';
import { AT, AWAY, IDLE, PHONES, SHARED_PHONE, atPhoneState } from '../conf/shared-phone-contexts.ts';
import { dialled } from '../conf/text.ts';
import type { PhoneFact } from '../events/system.ts';
import { asked, storeNotWritten, storeRows } from './store-rows.ts';
import type { StoreRows } from './store-rows.ts';

/*
 * PJSIPNotify  Endpoint Variable(name=value, more than one joined by ,)   sent to every contact address of the endpoint
 * DBDel        Family Key
 * Setvar       Variable(a function) Value, without a channel
 */
const EVENT = /^[a-z-]{1,40}(?:;[a-z]{1,20}=[a-z]{1,20})?$/;
const ENDPOINT = /^[0-9a-z_-]{1,40}$/;

/** People signed in at shared phones, by endpoint; both keys must agree, as for the dialplan. */
export function signedIn(phones: StoreRows, at: StoreRows): Map<string, SignedIn> {
  const signed = new Map<string, SignedIn>();
  for (const [endpoint, text] of phones) {
    const [, extension = '', since] = /^([0-9]{1,20})-([0-9]{1,16})$/.exec(text) ?? [];
    if (SHARED_PHONE.test(endpoint) && at.get(extension) === endpoint)
      signed.set(endpoint, { extension, since: Number(since) });
  }
  return signed;
}
async function readSigned(
  ami: Pick<AmiConnection, 'list'>,
  signal: AbortSignal | undefined,
): Promise<Map<string, SignedIn>> {
  const phones = await asked(storeRows(ami, PHONES, signal));
  return signedIn(phones, await asked(storeRows(ami, AT, signal)));
}

/** The verbs for desk phones. `report` receives what the store has after a sign-out. */
export const phoneActions = (actions: () => AmiConnection, report: (fact: PhoneFact) => void): PhoneVerbs => {
  const timed = (options: CommandOptions) => ({ ...options, ms: ACTION_MS.member });
  const must = async (name: string, fields: ActionFields, options: CommandOptions): Promise<void> => {
    const answer = await actions().action(name, fields, timed(options));
    if (!answer.ok) throw new ServiceError('engine_refused', answer.message || `${name} was refused`);
  };
  const show = (extension: string, Value: string, options: CommandOptions): Promise<void> =>
    must(
      'Setvar',
      { Variable: `DEVICE_STATE(${atPhoneState(dialled(extension, 'the extension'))})`, Value },
      options,
    );
  return {
    async notifyPhones(endpoint, event, options = {}) {
      if (!ENDPOINT.test(endpoint) || !EVENT.test(event))
        throw new ServiceError('invalid_request', 'the endpoint or the event is not valid');
      await must('PJSIPNotify', { Endpoint: endpoint, Variable: `Event=${event}` }, options);
    },
    async signOutPhone(endpoint, by, { signal } = {}) {
      // One verb is several actions, so none of them can use the given id.
      const options = signal === undefined ? {} : { signal };
      if (!SHARED_PHONE.test(endpoint))
        throw new ServiceError('invalid_request', 'the endpoint must be a shared phone');
      const before = (await readSigned(actions(), signal)).get(endpoint);
      if (before !== undefined) {
        await actions().action('DBDel', { Family: PHONES, Key: endpoint }, timed(options));
        await actions().action('DBDel', { Family: AT, Key: before.extension }, timed(options));
        await show(before.extension, AWAY, options);
      }
      const now = (await readSigned(actions(), signal)).get(endpoint) ?? null;
      report({ type: 'phone.signed', endpoint, now, by });
      if (now !== null && now.since === before?.since) throw storeNotWritten();
    },
    showIdleAtPhone: (extension, options = {}) => show(extension, IDLE, options),
  };
};
