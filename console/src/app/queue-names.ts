import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import type { QueueCaller } from '@offhook/contract/queues.ts';

/** Events of an earlier version have no titles. */
type Queues = Pick<ConversationSummary, 'queues'> & Partial<Pick<ConversationSummary, 'queue_titles'>>;

/** Title of a queue of this conversation, else its key. */
export const queueName = ({ queues, queue_titles }: Queues, queue: string): string =>
  queue_titles?.[queues.indexOf(queue)] ?? queue;
export const queueNames = (c: Queues): readonly string[] => c.queues.map((queue) => queueName(c, queue));

/** The party of a waiting caller, under the name of its customer where one is known. */
export const callerParty = ({
  caller,
  customer,
}: Pick<QueueCaller, 'caller' | 'customer'>): QueueCaller['caller'] =>
  customer === undefined ? caller : { ...caller, name: customer.name };
