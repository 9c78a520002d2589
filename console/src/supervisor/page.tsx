import type { ReactNode } from 'react';
import { Empty } from '../app/states.tsx';

export const SupervisorPage = (): ReactNode => <Empty title="SupervisorPage" />;
