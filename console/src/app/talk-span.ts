import type { ConversationSummary } from '@offhook/contract/conversations.ts';

type Talked = Pick<ConversationSummary, 'answered_at' | 'ended_at' | 'talk_time'>;
/**
 * Length of the talk in seconds, from the answer to the end. `talk_time` adds up all participants, so it is twice that for two
 * people; for a conversation that was never answered, as with a menu or a mailbox, it is the only figure.
 */
export const talkSpan = ({ answered_at, ended_at, talk_time }: Talked): number =>
  answered_at === null || ended_at === null
    ? talk_time
    : (Date.parse(ended_at) - Date.parse(answered_at)) / 1000;
