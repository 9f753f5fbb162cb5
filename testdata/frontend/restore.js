const restoredTodos = historyData?.workspace?.todos || null;
setTodosProgress(restoredTodos);
