import { ServiceError } from '../../../core/errors.ts';
import type { PhoneVerbs } from '../../../ports/engine.ts';
import { ACTION_MS } from '../ami/connection.ts';
import type { AmiConnection } from '../ami/connection.ts';

/*
 * PJSIPNotify  Endpoint Variable(name=value, more than one joined by ,)   sent to every contact address of the endpoint
 */
const EVENT = /^[a-z-]{1,40}(?:;[a-z]{1,20}=[a-z]{1,20})?$/;
const ENDPOINT = /^[0-9a-z-]{1,40}$/;

export const phoneActions = (actions: () => AmiConnection): PhoneVerbs => ({
  async notifyPhones(endpoint, event, options = {}) {
    if (!ENDPOINT.test(endpoint) || !EVENT.test(event))
      throw new ServiceError('invalid_request', 'the endpoint or the event is not valid');
    const fields = { Endpoint: endpoint, Variable: `Event=${event}` };
    const answer = await actions().action('PJSIPNotify', fields, { ...options, ms: ACTION_MS.member });
    if (!answer.ok) throw new ServiceError('engine_refused', answer.message || 'PJSIPNotify was refused');
  },
});
