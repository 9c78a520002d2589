import type { ConnectorCustomer } from './customers.ts';
import { PUSH_KINDS } from './load.ts';
import { failure } from './requests.ts';
import type { ConnectorResult } from './requests.ts';
import type { CallView, ConnectorSession, EntrySubject } from './session.ts';

/** An answered call of one minute, for tries and tests. */
export const SAMPLE_CALL: CallView = {
  id: 'offhook-sample-call',
  direction: 'inbound',
  disposition: 'answered',
  ending: 'answered',
  answered: true,
  title: 'Call from +49 30 901820',
  text: 'Answered by Anna Muster (1001)',
  html: '<p>Answered by Anna Muster (1001)</p>',
  from: '+4930901820',
  to: '+4989123456',
  number: '+4930901820',
  queue: 'sales',
  note: '',
  result: '',
  recording_url: '',
  url: 'https://offhook.example.com/conversations/offhook-sample-call',
  started_at: '2026-11-23T09:00:00.000Z',
  answered_at: '2026-11-23T09:00:05.000Z',
  ended_at: '2026-11-23T09:01:05.000Z',
  duration_seconds: 65n,
  talk_seconds: 60n,
  wait_seconds: 5n,
  revision: 1n,
};

/** One verb of a connector with what it is given; about the sample call where it needs one. */
export interface Step {
  readonly do: string;
  readonly number?: string | undefined;
  readonly text?: string | undefined;
  readonly name?: string | undefined;
  /** Id of the entry. */
  readonly id?: string | undefined;
  /** Ids of the customer and of their user. */
  readonly customer?: string | undefined;
  readonly user?: string | undefined;
  readonly cursor?: string | undefined;
  readonly page?: string | number | undefined;
}
export const STEPS = [
  'check',
  'lookup',
  'text',
  'create',
  'users',
  'entry.create',
  'entry.update',
  'entry.find',
  'entry.remove',
  ...PUSH_KINDS.map((kind) => `push.${kind}`),
  'sync',
] as const;

function subjectOf(step: Step): EntrySubject {
  const customer: ConnectorCustomer | undefined =
    step.customer === undefined
      ? undefined
      : {
          id: step.customer,
          kind: 'person',
          name: step.name ?? 'Sample',
          company: null,
          numbers: [SAMPLE_CALL.number],
          emails: [],
          owner: null,
          url: null,
          blocked: false,
          vip: false,
        };
  return {
    call: SAMPLE_CALL,
    customer,
    user: step.user === undefined ? undefined : { id: step.user, email: null, name: null },
    person: { extension: '1001', name: 'Anna Muster', email: 'anna@example.com' },
  };
}

/** Runs one step; a verb that the file lacks is refused. */
export async function runStep(
  session: ConnectorSession,
  step: Step,
  signal: AbortSignal,
): Promise<ConnectorResult<unknown>> {
  const lacking = failure('refused', `the file has no ${step.do}`);
  const { entry } = session;
  const subject = subjectOf(step);
  const { number = SAMPLE_CALL.number, text = '', name = 'Sample', id = '' } = step;
  switch (step.do) {
    case 'check':
      return await session.check(signal);
    case 'lookup':
      return (await session.lookup?.(number, signal)) ?? lacking;
    case 'text':
      return (await session.lookupText?.(text, signal)) ?? lacking;
    case 'create':
      return (await session.createCustomer?.({ name, e164: number, user: subject.user }, signal)) ?? lacking;
    case 'users':
      return (await session.users?.(signal)) ?? lacking;
    case 'entry.create':
      return (await entry?.create(subject, signal)) ?? lacking;
    case 'entry.update':
      return (await entry?.update(id, subject, signal)) ?? lacking;
    case 'entry.find':
      return (await entry?.find(subject, signal)) ?? lacking;
    case 'entry.remove':
      return (await entry?.remove(id, subject, signal)) ?? lacking;
    case 'sync':
      return (
        (await session.sync?.({ cursor: step.cursor ?? null, page: step.page ?? null }, signal)) ?? lacking
      );
    default: {
      const kind = PUSH_KINDS.find((one) => `push.${one}` === step.do);
      if (kind === undefined) return failure('refused', `${step.do}: use one of ${STEPS.join(', ')}`);
      return (await session.push(kind, subject, signal)) ?? lacking;
    }
  }
}
