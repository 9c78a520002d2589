import type { OutboundStream } from '../../../outbound/transport.ts';
import type { ConnectorCustomer } from './customers.ts';
import { PUSH_KINDS } from './load.ts';
import { failure } from './requests.ts';
import type { ConnectorResult } from './requests.ts';
import type { CallView, ConnectorSession, EntrySubject } from './session.ts';

/** An answered call of one minute, for trials of a connector file and for tests. */
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

/** A WAV file without samples, 8 kHz. */
const SAMPLE_WAV = Buffer.from('UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=', 'base64');
const SAMPLE_AUDIO: OutboundStream = {
  bytes: SAMPLE_WAV.length,
  async *read() {
    yield SAMPLE_WAV;
  },
};
const SAMPLE_RECORDING = {
  id: 'offhook-sample-recording',
  name: 'offhook-sample-recording.wav',
  started_at: SAMPLE_CALL.answered_at,
  seconds: 60,
  bytes: SAMPLE_WAV.length,
};

/** One verb of a connector with its arguments; verbs about a call use the sample call. */
export interface Step {
  readonly do: string;
  readonly number?: string | undefined;
  readonly text?: string | undefined;
  readonly name?: string | undefined;
  /** Id of the entry, and of a recording attached to it. */
  readonly id?: string | undefined;
  readonly attached?: string | undefined;
  /** Id that the system gave the live call. */
  readonly pushed?: string | undefined;
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
  'entry.attach',
  'entry.attach.find',
  'entry.attach.remove',
  'entry.remove',
  ...PUSH_KINDS.map((kind) => `push.${kind}`),
  'pop.show',
  'pop.hide',
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

/** Runs one step; the result is `refused` if the file lacks the verb. */
export async function runStep(
  session: ConnectorSession,
  step: Step,
  signal: AbortSignal,
): Promise<ConnectorResult<unknown>> {
  const lacking = failure('refused', `the file has no ${step.do}`);
  const { entry, attachments } = session;
  const subject = subjectOf(step);
  const { number = SAMPLE_CALL.number, text = '', name = 'Sample', id = '' } = step;
  const { pushed } = step;
  const attached = { ...subject, entry: id, recording: SAMPLE_RECORDING };
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
    case 'entry.attach':
      return (await attachments?.create(attached, SAMPLE_AUDIO, signal)) ?? lacking;
    case 'entry.attach.find':
      return (await attachments?.find(attached, signal)) ?? lacking;
    case 'entry.attach.remove':
      return (await attachments?.remove(step.attached ?? '', attached, signal)) ?? lacking;
    case 'entry.remove':
      return (await entry?.remove(id, subject, signal)) ?? lacking;
    case 'pop.show':
    case 'pop.hide':
      return (
        (await session.show(step.do === 'pop.show' ? 'show' : 'hide', { ...subject, pushed }, signal)) ??
        lacking
      );
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
