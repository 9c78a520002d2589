/** Dialogs that confirm an action. One is open at a time. */
import { createContext, useContext } from 'react';
import type { QueueCaller } from '@offhook/contract/queues.ts';

export const MONITORS = ['listen', 'whisper', 'barge'] as const;
export type Monitor = (typeof MONITORS)[number];
export type Ask =
  | {
      readonly is: 'monitor';
      readonly does: Monitor;
      readonly call_id: string;
      readonly leg_id?: string;
      readonly name: string;
    }
  | { readonly is: 'hangup'; readonly call_id: string; readonly name: string }
  | { readonly is: 'move' | 'priority' | 'withdraw'; readonly queue: string; readonly caller: QueueCaller }
  | { readonly is: 'members'; readonly queue: string; readonly title: string };
export const AskContext = createContext<(ask: Ask) => void>(() => undefined);
export const useAsk = (): ((ask: Ask) => void) => useContext(AskContext);
