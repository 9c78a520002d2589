import type { ConversationSummary } from '@offhook/contract/conversations.ts';

type Talked = Pick<ConversationSummary, 'answered_at' | 'ended_at' | 'talk_time'>;
/**
 * How long people talked, s: from the answer to the end. `talk_time` counts everybody who took part, twice what two people
 * would say; it is all there is of what was never answered, as a menu or a mailbox.
 */
export const talkSpan = ({ answered_at, ended_at, talk_time }: Talked): number =>
  answered_at === null || ended_at === null
    ? talk_time
    : (Date.parse(ended_at) - Date.parse(answered_at)) / 1000;
