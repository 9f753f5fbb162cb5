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
