import type { ReactNode } from 'react';
import { Empty } from '../app/states.tsx';

export const DirectoryPage = (): ReactNode => <Empty title="DirectoryPage" />;
