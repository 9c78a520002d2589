import type { ReactNode } from 'react';
import { Empty } from '../app/states.tsx';

export const ConversationPage = (): ReactNode => <Empty title="ConversationPage" />;
