import 'dart:convert';
import 'package:flutter/material.dart';
import 'package:http/http.dart' as http;

bool isTodoToolName(String name) =>
    name.split(RegExp(r'__|[./:]')).last.toLowerCase().contains('todo');

List<Map<String, dynamic>> _items(dynamic todos) =>
    ((todos ?? const []) as List).cast<Map<String, dynamic>>();

/// The todos of a list as they are, and again with every change; without an id
/// those of whatever main list changes.
Stream<List<Map<String, dynamic>>> todos(Uri base, {String list = ''}) async* {
  final query = '?list=${Uri.encodeQueryComponent(list)}';
  final client = http.Client();
  try {
    // The stream is open before the state is read, so that no change is missed.
    final stream = await client.send(http.Request('GET', base.resolve('/api/stream$query')));
    final state = await client.get(base.resolve('/api/workspace$query'));
    yield _items(jsonDecode(utf8.decode(state.bodyBytes))['workspace']['todos']);
    await for (final line in stream.stream.transform(utf8.decoder).transform(const LineSplitter())) {
      if (!line.startsWith('data: ')) continue;
      final data = jsonDecode(line.substring(6)) as Map<String, dynamic>;
      final block = data['content_block'] as Map<String, dynamic>?;
      if (data['type'] != 'content_block_start' || block == null) continue;
      if (!isTodoToolName(block['name'] as String) || block['parent_tool_use_id'] != null) continue;
      yield _items(block['input']['todos']);
    }
  } finally {
    client.close();
  }
}

class TodoList extends StatefulWidget {
  const TodoList({super.key, required this.base, this.list = ''});
  final Uri base;
  final String list;

  @override
  State<TodoList> createState() => _TodoListState();
}

class _TodoListState extends State<TodoList> {
  late final _todos = todos(widget.base, list: widget.list);

  @override
  Widget build(BuildContext context) => StreamBuilder(
        stream: _todos,
        builder: (context, snapshot) => TodoListWidget(todos: snapshot.data ?? const []),
      );
}

class TodoListWidget extends StatelessWidget {
  final List<Map<String, dynamic>> todos;
  const TodoListWidget({required this.todos});
  @override
  Widget build(BuildContext context) {
    return Column(
      children: todos.map((todo) {
        final status = todo['status'] as String;
        final text = status == 'in_progress'
            ? todo['activeForm'] as String
            : todo['content'] as String;
        return Row(
          children: [
            _StatusIcon(status: status),
            const SizedBox(width: 8),
            Text(
              text,
              style: TextStyle(
                decoration: status == 'completed' ? TextDecoration.lineThrough : null,
                color: status == 'in_progress' ? Colors.grey[900] : Colors.grey[600],
                fontWeight: status == 'in_progress' ? FontWeight.w600 : null,
              ),
            ),
          ],
        );
      }).toList(),
    );
  }
}

class _StatusIcon extends StatelessWidget {
  final String status;
  const _StatusIcon({required this.status});
  @override
  Widget build(BuildContext context) {
    if (status == 'completed') {
      return const Icon(Icons.check_circle, color: Colors.green, size: 16);
    }
    if (status == 'in_progress') {
      return Container(
        width: 8, height: 8,
        decoration: const BoxDecoration(color: Colors.blue, shape: BoxShape.circle),
      );
    }
    return Container(
      width: 8, height: 8,
      decoration: BoxDecoration(
        shape: BoxShape.circle,
        border: Border.all(color: Colors.grey),
      ),
    );
  }
}
