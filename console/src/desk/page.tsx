import type { ReactNode } from 'react';
import { Empty } from '../app/states.tsx';

export const DeskPage = (): ReactNode => <Empty title="DeskPage" />;
