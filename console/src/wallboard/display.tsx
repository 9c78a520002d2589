import type { ReactNode } from 'react';
import { Empty } from '../app/states.tsx';

export const DisplayPage = (): ReactNode => <Empty title="DisplayPage" />;
